// msda run: the main job on one problem: prepare, launch, verify against the reference, time.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "runtime/tensor_files.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/trials.hpp"

namespace msda::cli {
namespace {

struct RunOptions {
    ProblemOptions problem;
    ConfigOptions config;
    TrialOptions trial;
    std::string save, load;
    bool json = false;
};

void print(std::ostream& out, const Outcome& o) {
    const Problem& p = o.what.problem;
    out << fmt::format("{} {} {}, locations {}, on {}\n", o.what.shape, name(p.pass), name(p.value), name(o.locations),
                       o.gpu.empty() ? device_name(o.device) : o.gpu);
    out << fmt::format("  config    {} ({})\n", brief(o.op.config(), p.pass), o.op.config_origin());
    out << fmt::format("  source    {}\n", o.op.source_digest());
    if (o.prepare_ms) out << fmt::format("  prepared  {}\n", duration_text(*o.prepare_ms * 1000));
    if (o.op.workspace_bytes() > 0) out << fmt::format("  workspace {} bytes\n", o.op.workspace_bytes());
    for (const Verdict& v : o.verification.verdicts)
        out << fmt::format("  {:<15} {}: norm error {:.2e} (allowed {:.0e}), max error {:.2e}\n", v.tensor,
                           v.passed ? "right" : "WRONG", v.difference.norm_error, v.tolerance, v.difference.max_error);
    if (o.verification.verdicts.empty()) out << "  nothing to compute\n";
    if (o.median_us) out << fmt::format("  time      {} ({})\n", duration_text(*o.median_us), o.timing);
}

void run(Session& session, const RunOptions& options) {
    const NamedProblem what = options.problem.problem();
    const Locations locations = parse_locations(options.trial.locations);
    check_memory(what.problem);
    // What can be wrong with the files is found before anything is compiled.
    Inputs inputs;
    if (!options.load.empty()) inputs = load_inputs(options.load, what.problem);
    const Device device = session.device(options.trial.device);
    Trials trials(session, device);  // makes the context, which is no part of preparing
    const auto start = std::chrono::steady_clock::now();
    const Prepared prepared = prepare_all(session, device, {what}, options.config).front();
    const std::chrono::duration<double, std::milli> prepare_time = std::chrono::steady_clock::now() - start;
    if (prepared.error) throw *prepared.error;
    if (options.load.empty())
        inputs = make_inputs(what.problem, locations, static_cast<std::uint64_t>(options.trial.seed));
    Outputs outputs;
    Outcome outcome = trials.verify(what, *prepared.op, locations, inputs, &outputs);
    outcome.prepare_ms = prepare_time.count();
    if (!options.save.empty()) save_arrays(options.save, what.problem, inputs, outputs);
    if (outcome.verification.passed()) trials.time(outcome, inputs);
    if (options.json)
        session.out() << to_json(outcome).dump(2) << '\n';
    else
        print(session.out(), outcome);
    if (!outcome.verification.passed())
        throw Error(Code::verify_failed, fmt::format("{}: {}", what.shape, outcome.verification.complaint()));
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("run", "Prepare, launch, verify and time one problem");
    const auto options = std::make_shared<RunOptions>();
    options->problem.add(*command, false);
    options->config.add(*command);
    options->trial.add(*command);
    auto* load = command->add_option("--load", options->load, "directory with the inputs as .npy files");
    load->excludes(command->get_option("--seed"));
    command->add_option("--save", options->save, "directory for inputs and outputs as .npy files");
    command->add_flag("--json", options->json, "one JSON object on stdout");
    command->callback([options, &session] { run(session, *options); });
}

}  // namespace msda::cli
