// msda verify: many problems against the reference, with no timing.
#include <fmt/format.h>

#include <memory>

#include "tools/cli/progress.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/trials.hpp"

namespace msda::cli {
namespace {

struct VerifyOptions {
    ProblemOptions problem;
    ConfigOptions config;
    TrialOptions trial;
    bool json = false;
};

// One problem's line in the report: its outcome, or why there is none.
struct Line {
    NamedProblem what;
    std::optional<Outcome> outcome;
    std::optional<Error> error;
    bool passed() const { return outcome && outcome->verification.passed(); }
};

Line check(Trials& trials, const NamedProblem& what, const Prepared& prepared, Locations locations,
           std::uint64_t seed) {
    if (prepared.error) return {what, {}, prepared.error};
    try {
        check_memory(what.problem);
        const Inputs inputs = make_inputs(what.problem, locations, seed);
        return {what, trials.verify(what, *prepared.op, locations, inputs), {}};
    } catch (const Error& error) {
        // After a fault the driver refuses everything else: the rest of the list would only repeat it.
        if (error.code() == Code::driver_failed) throw;
        return {what, {}, error};
    }
}

Json to_json(const Line& line) {
    if (line.outcome) return to_json(*line.outcome);
    return {{"shape", line.what.shape},
            {"pass", name(line.what.problem.pass)},
            {"dtype", name(line.what.problem.value)},
            {"verified", false},
            {"error", line.error->what()},
            {"code", static_cast<int>(line.error->code())},
            {"problem", canonical(line.what.problem)}};
}

void print_table(std::ostream& out, const std::vector<Line>& lines) {
    Table table({"shape", "pass", "dtype", "sums", "result", "tensor", "norm error", "allowed", "max error"});
    for (const Line& line : lines) {
        const Problem& p = line.what.problem;
        std::vector<std::string> start = {line.what.shape, std::string(name(p.pass)), std::string(name(p.value)),
                                          p.pass == Pass::backward ? std::string(name(p.accumulate)) : "-"};
        const auto add = [&](std::vector<std::string> end) {
            std::vector<std::string> row = start;
            row.insert(row.end(), end.begin(), end.end());
            table.add(std::move(row));
            start = {"", "", "", ""};
        };
        if (!line.outcome) add({"ERROR", line.error->what(), "-", "-", "-"});
        if (line.outcome && line.outcome->verification.verdicts.empty())
            add({"right", "nothing to compute", "-", "-", "-"});
        if (!line.outcome) continue;
        for (const Verdict& v : line.outcome->verification.verdicts)
            add({v.passed ? "right" : "WRONG", v.tensor, fmt::format("{:.2e}", v.difference.norm_error),
                 fmt::format("{:.0e}", v.tolerance), fmt::format("{:.2e}", v.difference.max_error)});
        if (const std::string& beside = line.outcome->verification.overrun; !beside.empty())
            add({"WRONG", "written beside " + beside, "-", "-", "-"});
    }
    table.print(out);
}

// A mismatch outweighs an error, since it is what the command is there to find.
void fail(const std::vector<Line>& lines) {
    std::string wrong;
    const Line* error = nullptr;
    std::size_t failed = 0;
    for (const Line& line : lines) {
        if (line.passed()) continue;
        failed++;
        if (line.error) {
            if (error == nullptr) error = &line;
            continue;
        }
        if (wrong.empty())
            wrong = fmt::format("{} {} {}: {}", line.what.shape, name(line.what.problem.pass),
                                name(line.what.problem.value), line.outcome->verification.complaint());
    }
    if (failed == 0) return;
    const std::string head = fmt::format("{} of {} failed, the first: ", failed, lines.size());
    if (!wrong.empty()) throw Error(Code::verify_failed, head + wrong);
    throw Error(error->error->code(), head + error->what.shape + ": " + error->error->what(), error->error->log());
}

void verify(Session& session, const VerifyOptions& options) {
    const std::vector<NamedProblem> problems = options.problem.problems();
    const Locations locations = parse_locations(options.trial.locations);
    const Device device = session.device(options.trial.device);
    Trials trials(session, device);
    const std::vector<Prepared> prepared = prepare_all(session, device, problems, options.config);
    std::vector<Line> lines;
    {
        Progress progress(session, "verified", problems.size());
        for (std::size_t i = 0; i < problems.size(); i++) {
            lines.push_back(
                check(trials, problems[i], prepared[i], locations, static_cast<std::uint64_t>(options.trial.seed)));
            progress.step(problems[i].shape);
        }
    }
    if (options.json) {
        Json all = Json::array();
        for (const Line& line : lines) all.push_back(to_json(line));
        session.out() << all.dump(2) << '\n';
    } else {
        print_table(session.out(), lines);
        session.out() << fmt::format("{} of {} right\n", std::ranges::count_if(lines, &Line::passed), lines.size());
    }
    fail(lines);
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("verify", "Compare many problems with the double-precision reference");
    const auto options = std::make_shared<VerifyOptions>();
    options->problem.add(*command, true);
    options->config.add(*command);
    options->trial.add(*command);
    command->add_flag("--json", options->json, "a JSON array on stdout, one object a problem");
    command->callback([options, &session] { verify(session, *options); });
}

}  // namespace msda::cli
