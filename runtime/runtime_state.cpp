#include "runtime/runtime_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "runtime/choose.hpp"
#include "runtime/current_context.hpp"
#include "runtime/gpu_operator.hpp"
#include "runtime/host_operator.hpp"
#include "runtime/tuner/gpu_tuning.hpp"

namespace msda {
namespace {

LayersOptions layers_options(const Options& options, Warnings& warnings, Packs& packs) {
    LayersOptions layers = LayersOptions::from_environment();
    layers.file = options.database;
    layers.site_directories = split_paths(options.site_databases);
    layers.warn = [&warnings](const std::string& message) { warnings.once(message, message); };
    layers.packs = [&packs] { return packs.layers(); };
    return layers;
}

std::string cache_directory(const Options& options) {
    if (!options.disk_cache) return {};
    return options.cache_directory.empty() ? default_cache_directory() : options.cache_directory;
}

bool has_kernels(const Plan& plan) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [](const Step& step) { return step.kind == Step::Kind::kernel; });
}

// A prepare() that must compile or load would do so while the caller's stream is recorded: refused before anything is
// touched.
void refuse_capture(const DeviceContext& context, const Stream* stream) {
    const Driver& driver = context.driver();
    const CurrentContext current(driver, context.handle());
    const bool captured = (stream != nullptr && is_capturing(driver, static_cast<CUstream>(*stream))) ||
                          is_capturing(driver, CU_STREAM_LEGACY) || is_capturing(driver, CU_STREAM_PER_THREAD);
    if (captured)
        throw Error(
            Code::not_prepared,
            "this problem is not prepared and the stream is being captured; call prepare() before the capture begins "
            "(the capture is still valid)");
}

}  // namespace

CompileRequest compile_request(const Problem& problem, const Config& config, int capability) {
    CompileRequest request;
    request.source = emit(problem, config);
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = capability;
    return request;
}

Runtime::State::State(Options given)
    : options(std::move(given)),
      warnings(options.warn),
      cache(files, cache_directory(options), warnings,
            options.disk_cache ? "neither HOME nor XDG_CACHE_HOME is set" : ""),
      packs(files, warnings, split_paths(options.packs)),
      layers(layers_options(options, warnings, packs)),
      binaries(cache, warnings, [this](int driver_version) { return nvrtc(driver_version); }),
      capture(Capture::from_environment(options.warn)),
      tune_on_miss(msda::tune_on_miss),
      tiers_(
          binaries, warnings, [this](int driver_version) { return nvrtc(driver_version); },
          [this](const Problem& problem, const Silicon& silicon) {
              return choose_config(problem, silicon, options.deterministic, layers).config;
          }) {
    binaries.add_source([this](const std::string& digest, int capability) { return packs.find(digest, capability); });
}

std::shared_ptr<const Operator::State> Runtime::State::prepare(Runtime& runtime, const Problem& problem,
                                                               const std::optional<Config>& config, Device device,
                                                               const Stream* stream) {
    OperatorKey key{normalise(problem), config, device, nullptr};
    std::shared_ptr<DeviceContext> context;
    if (device.kind == Device::Kind::gpu) {
        key.device.ordinal = ordinal_of(device);
        context = context_for(key.device.ordinal);
        key.context = context.get();
    }
    if (auto found = operators_.find(key)) return found;
    if (context != nullptr) refuse_capture(*context, stream);
    return operators_.get(key, [&] { return captured(make(runtime, key, context), context, capture); });
}

Identity Runtime::State::identify(Runtime& runtime, const OperatorKey& key, const Silicon& silicon) {
    Identity identity{key.problem, {}, "given", {}};
    if (key.config) {
        identity.config = *key.config;
    } else {
        ChosenConfig chosen = choose_config(key.problem, silicon, options.deterministic, layers);
        identity.config = chosen.config;
        identity.config_origin = std::move(chosen.origin);
        const bool may_tune = options.tune_on_miss && !options.deterministic && tune_on_miss != nullptr;
        if (may_tune && identity.config_origin == "heuristic")
            if (const auto tuned = tune_on_miss(runtime, key.problem, key.device)) {
                identity.config = *tuned;
                identity.config_origin = "exact";
            }
    }
    if (const std::string why = why_not(key.problem, identity.config, silicon); !why.empty()) {
        // Host code computes every problem; the digest is of kernels that this one does not have.
        if (key.device.kind == Device::Kind::cpu && !key.config) return identity;
        throw Error(key.config ? Code::invalid_argument : Code::unsupported, why);
    }
    identity.source_digest = source_digest(compile_request(key.problem, identity.config, silicon.capability));
    return identity;
}

std::shared_ptr<const Operator::State> Runtime::State::make(Runtime& runtime, const OperatorKey& key,
                                                            const std::shared_ptr<DeviceContext>& context) {
    Identity identity = identify(runtime, key, context != nullptr ? context->device().silicon : Silicon());
    switch (key.device.kind) {
        case Device::Kind::gpu:
            if (options.tier_up && !options.deterministic && !key.config && Tiers::can_serve(key.problem))
                return tiers_.make(std::move(identity), context);
            return make_on_gpu(std::move(identity), context);
        case Device::Kind::emulated:
            return make_emulated(std::move(identity));
        case Device::Kind::cpu:
            break;
    }
    return std::make_shared<CpuOperator>(std::move(identity), options.cpu_threads);
}

std::shared_ptr<const Operator::State> Runtime::State::make_on_gpu(Identity identity,
                                                                   const std::shared_ptr<DeviceContext>& context) {
    const Plan steps = plan(identity.problem, identity.config);
    std::shared_ptr<const Binary> binary;
    if (has_kernels(steps))
        binary = binaries.get(compile_request(identity.problem, identity.config, context->device().silicon.capability),
                              context->driver().version);
    // Loading may wait for the device, which is an error while any stream of the process is captured, unless this
    // thread opts out.
    const RelaxedCapture relaxed(context->driver());
    const CurrentContext current(context->driver(), context->handle());
    context->collect();
    return std::make_shared<GpuOperator>(std::move(identity), steps, context, binary.get());
}

std::shared_ptr<const Operator::State> Runtime::State::make_emulated(Identity identity) {
    std::shared_ptr<Emulator> emulator;
    {
        const std::lock_guard lock(mutex_);
        if (emulator_ == nullptr) emulator_ = std::make_shared<Emulator>();
        emulator = emulator_;
    }
    Plan steps = plan(identity.problem, identity.config);
    std::shared_ptr<const EmulatedModule> module;
    if (has_kernels(steps)) module = emulator->compile(emit(identity.problem, identity.config));
    return std::make_shared<EmulatedOperator>(std::move(identity), std::move(steps), std::move(emulator),
                                              std::move(module));
}

}  // namespace msda
