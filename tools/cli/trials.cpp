// One set of device memory serves the whole list.
#include "tools/cli/trials.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/measure/timer.hpp"
#include "runtime/parallel.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/progress.hpp"

namespace msda::cli {

void TrialOptions::add(CLI::App& app) {
    app.add_option("--device", device, "auto, gpu, gpu:N, cpu or emulate; auto: the GPU if there is one, else the CPU");
    app.add_option("--locations", locations, "model (what trained models sample) or uniform; default model");
    add_integer(app, "--seed", seed, 0, std::int64_t{1} << 53, "of the generated inputs; default 1");
}

std::vector<Prepared> prepare_all(Session& session, Device device, const std::vector<NamedProblem>& problems,
                                  const ConfigOptions& config) {
    std::vector<Prepared> prepared(problems.size());
    Runtime& runtime = session.runtime();
    const Silicon silicon = runtime.silicon(device);
    Progress progress(session, "compiled", problems.size());
    parallel_for(
        thread_count(0), static_cast<std::int64_t>(problems.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin; i < end; i++) {
                const NamedProblem& what = problems[static_cast<std::size_t>(i)];
                Prepared& result = prepared[static_cast<std::size_t>(i)];
                try {
                    result.op = config.given()
                                    ? runtime.prepare(what.problem, config.config(what.problem, silicon), device)
                                    : runtime.prepare(what.problem, device);
                } catch (const Error& error) {
                    result.error = error;
                }
                progress.step(what.shape);
            }
        });
    return prepared;
}

void check_memory(const Problem& p) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return;
    const Sizes size = sizes(p);
    const auto bytes = [](std::int64_t elements, Type type) {
        return static_cast<double>(elements) * static_cast<double>(bytes_of(type));
    };
    const double wanted = bytes(size.value, p.value) + bytes(size.locations, p.location) +
                          bytes(size.weights, p.weight) + bytes(size.output, p.output);
    const double there = static_cast<double>(pages) * static_cast<double>(page);
    if (wanted > there)
        throw Error(Code::out_of_memory,
                    fmt::format("tensors: expected at most the {:.1f} GB of this machine's memory, "
                                "got {:.1f} GB",
                                there * 1e-9, wanted * 1e-9));
}

Trials::Trials(Session& session, Device device)
    : place_(DevicePlace::of(session.runtime(), device)),
      gpu_(gpu_name(session, device)),
      tensors_(place_),
      oracle_(session.runtime(), place_) {}

Outcome Trials::verify(const NamedProblem& what, const Operator& op, Locations locations, const Inputs& inputs,
                       Outputs* outputs) {
    tensors_.fit(what.problem, op.workspace_bytes());
    tensors_.upload(inputs);
    const ReferenceResult reference = oracle_.compute(what.problem, inputs, tensors_);
    return {.what = what,
            .locations = locations,
            .device = place_.device,
            .gpu = gpu_,
            .op = op,
            .verification = msda::verify(op, tensors_, reference, 0, outputs),
            .oracle = oracle_.on_gpu(what.problem) ? "gpu" : "cpu",
            .median_us = {},
            .timing = {},
            .prepare_ms = {}};
}

void Trials::time(Outcome& outcome, const Inputs& inputs) {
    RotatingTensors copies(place_, outcome.what.problem, inputs, outcome.op.workspace_bytes());
    TimingSettings settings;
    settings.submission = Submission::graph;
    outcome.timing = "graph replays, cold L2";
    if (place_.context == nullptr) {
        settings.most_batches = 20;
        outcome.timing = "launches on the host";
    }
    if (place_.device.kind == Device::Kind::emulated) {
        settings.fewest_batches = settings.most_batches = 1;  // says nothing about a GPU, and may take seconds
        outcome.timing = "one launch under emulation";
    }
    outcome.median_us = Timer(place_).time(outcome.op, copies, settings).median_us;
}

}  // namespace msda::cli
