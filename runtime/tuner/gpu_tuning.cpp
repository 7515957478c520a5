// The tuner meets the runtime.
#include "runtime/tuner/gpu_tuning.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "msda/error.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "tuning_db/check.hpp"
#include "tuning_db/database_file.hpp"

namespace msda {
namespace {

constexpr double miss_budget_s = 5;  // an application that asked for it waits this long, once a problem

void save_for_later(Runtime::State& state, const Record& record) {
    const std::string path = LayersOptions::from_environment().user_file;
    if (path.empty()) return;
    Database database;
    database.add(record);
    try {
        save_database(state.files, path, database);
    } catch (const Error& error) {
        state.warnings.once("tune_on_miss",
                            fmt::format("the tuned config is kept for this process only: {}", error.what()));
    }
}

}  // namespace

CompileCandidate gpu_compiler(Runtime& runtime, const Problem& problem, Device device) {
    Runtime::State& state = runtime.state();
    const int driver_version = state.driver()->version;
    const auto nvrtc = state.nvrtc(driver_version);
    const int capability = runtime.silicon(device).capability;
    const Target target = choose_target(*nvrtc, capability, "", driver_version);
    return [=](const Config& config) { return compile(compile_request(problem, config, capability), target, *nvrtc); };
}

void label(Record& record, Runtime& runtime, std::optional<Device> device) {
    record.generator = version();
    record.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    if (!device) return;
    const auto driver = runtime.state().driver();
    record.gpu = device_info(*driver, device->ordinal).name;
    record.driver = version_text(driver->version);
    record.nvrtc = version_text(runtime.state().nvrtc(driver->version)->info().version);
}

std::optional<Config> tune_on_miss(Runtime& runtime, const Problem& problem, Device device) try {
    if (device.kind != Device::Kind::gpu) return std::nullopt;
    GpuTrack track(runtime);
    TuneRequest request;
    request.problem = problem;
    request.silicon = runtime.silicon(device);
    request.search.budget_s = miss_budget_s;
    request.track.ordinal = device.ordinal;
    Record record = tune(request, track, gpu_compiler(runtime, problem, device)).record;
    label(record, runtime, device);
    record.command = fmt::format("MSDA_TUNE=on_miss, problem {}", record.problem);
    std::string why;
    const std::optional<Config> config = usable_config(record, problem, request.silicon, why);
    runtime.state().layers.remember(record);
    save_for_later(runtime.state(), record);
    return config;
} catch (const std::exception& error) {
    runtime.state().warnings.once("tune_on_miss", fmt::format("not tuned: {}", error.what()));
    return std::nullopt;
}

}  // namespace msda
