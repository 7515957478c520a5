// msda bench: times of many problems, with errors, rates and the ceilings of the same run.
#include "tools/cli/bench.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "runtime/runtime_state.hpp"
#include "runtime/tensor_files.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/output_file.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/trials.hpp"

namespace msda::cli {
namespace {

struct BenchOptions {
    ProblemOptions problem;
    ConfigOptions config;
    TrialOptions trial{.locations = "model,uniform"};
    std::string l2 = "cold,warm";
    std::string json, load, commit;
    double precision = 0.5;
    bool skip_verify = false, skip_ceilings = false;
};

// Names of kinds of locations, or the directory that captured ones come from.
std::vector<std::string> kinds_of(const BenchOptions& options) {
    if (!options.load.empty()) return {"captured"};
    const std::vector<std::string> kinds = split_list(options.trial.locations);
    for (const std::string& kind : kinds) parse_locations(kind);
    if (kinds.empty()) throw Error(Code::invalid_argument, "--locations: expected model, uniform or both, got nothing");
    return kinds;
}

MeasureSettings settings_of(const BenchOptions& options, Device device) {
    MeasureSettings settings{.cold = false, .warm = false, .verify = !options.skip_verify};
    for (const std::string& word : split_list(options.l2)) {
        if (word != "cold" && word != "warm")
            throw Error(Code::invalid_argument,
                        fmt::format("--l2: expected cold, warm or both, got '{}'", word.substr(0, 64)));
        (word == "cold" ? settings.cold : settings.warm) = true;
    }
    if (!settings.cold && !settings.warm)
        throw Error(Code::invalid_argument, "--l2: expected cold, warm or both, got nothing");
    settings.timing.precision = options.precision / 100;
    if (device.kind != Device::Kind::gpu) settings.timing.most_batches = 20;
    return settings;
}

BenchRow measure(Measurer& measurer, const NamedProblem& what, const Prepared& prepared, const std::string& kind,
                 const BenchOptions& options, const MeasureSettings& settings) {
    BenchRow row{what, kind, prepared.op, {}, prepared.error ? prepared.error->what() : ""};
    if (!prepared.op) return row;
    try {
        check_memory(what.problem);
        const Inputs inputs = options.load.empty() ? make_inputs(what.problem, parse_locations(kind),
                                                                 static_cast<std::uint64_t>(options.trial.seed))
                                                   : load_inputs(options.load, what.problem);
        row.measurement = measurer.measure(*prepared.op, inputs, settings);
    } catch (const Error& error) {
        if (error.code() != Code::out_of_memory) throw;  // a smaller problem may still fit
        row.error = error.what();
    }
    return row;
}

// What the figures were measured with.
Json heading(Session& session, Device device, const std::string& commit) {
    Runtime::State& state = session.runtime().state();
    const std::time_t now = std::time(nullptr);
    Json json = {{"gpu", nullptr}, {"driver", nullptr}, {"nvrtc", nullptr}};
    if (device.kind == Device::Kind::gpu) {
        const auto driver = state.driver();
        json["gpu"] = gpu_name(session, device);
        json["driver"] = version_text(driver->version);
        json["nvrtc"] = version_text(state.nvrtc(driver->version)->info().version);
    }
    json["device"] = device_name(device);
    json["version"] = version();
    json["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
    json["commit"] = commit.empty() ? Json(nullptr) : Json(commit);
    return json;
}

// Unsuccessful rows are in the report; the exit code tells programs that there are some.
void fail(const std::vector<BenchRow>& rows) {
    for (const BenchRow& row : rows) {
        if (!row.measurement) throw Error(Code::unsupported, fmt::format("{}: {}", row.what.shape, row.error));
        if (row.measurement->verification && !row.measurement->verification->passed())
            throw Error(Code::verify_failed,
                        fmt::format("{}: {}", row.what.shape, row.measurement->verification->complaint()));
    }
}

void bench(Session& session, const BenchOptions& options) {
    const std::vector<NamedProblem> problems = options.problem.problems();
    const std::vector<std::string> kinds = kinds_of(options);
    if (!options.load.empty() && problems.size() != 1)
        throw Error(Code::invalid_argument,
                    fmt::format("--load: expected one problem, got {} combinations", problems.size()));
    const Device device = session.device(options.trial.device);
    const MeasureSettings settings = settings_of(options, device);
    const DevicePlace place = DevicePlace::of(session.runtime(), device);
    const std::vector<Prepared> prepared = prepare_all(session, device, problems, options.config);
    Ceilings ceilings;
    if (place.context != nullptr && !options.skip_ceilings) ceilings = measure_ceilings(session.runtime(), place);
    Measurer measurer(session.runtime(), place);
    std::vector<BenchRow> rows;
    {
        Progress progress(session, "measured", problems.size() * kinds.size());
        for (std::size_t i = 0; i < problems.size(); i++)
            for (const std::string& kind : kinds) {
                rows.push_back(measure(measurer, problems[i], prepared[i], kind, options, settings));
                progress.step(problems[i].shape);
            }
    }
    print_ceilings(session.out(), ceilings);
    print_rows(session.out(), rows, ceilings);
    if (!options.json.empty()) {
        Json json = heading(session, device, options.commit);
        json["ceilings"] = to_json(ceilings);
        json["rows"] = Json::array();
        for (const BenchRow& row : rows) append_json(json["rows"], row, ceilings);
        write_output(options.json, json.dump(1) + "\n");
    }
    fail(rows);
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("bench", "Time many problems beside the measured ceilings of the device");
    const auto options = std::make_shared<BenchOptions>();
    options->problem.add(*command, true);
    options->config.add(*command);
    options->trial.add(*command);
    command->get_option("--locations")->description("model, uniform or both (default): model,uniform");
    command->add_option("--l2", options->l2, "cold (inputs rotate through 3 x L2), warm or both (default): cold,warm");
    command->add_option("--load", options->load, "directory with captured inputs as .npy files, for one problem");
    command->add_option("--json", options->json, "file for the report as JSON; the table goes to stdout all the same");
    command->add_option("--commit", options->commit, "what the report says of the source");
    add_number(*command, "--precision", options->precision, 0.01, 50,
               "stop once the median's standard error is below so many percent; default 0.5");
    command->add_flag("--no-verify", options->skip_verify, "leave out the comparison with the reference");
    command->add_flag("--no-ceilings", options->skip_ceilings, "leave out the ceilings");
    command->callback([options, &session] { bench(session, *options); });
}

}  // namespace msda::cli
