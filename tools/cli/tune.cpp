// msda tune: searches the configs of many problems and keeps the winners; msda worker: its other half, where candidates
// run.
#include "tools/cli/tune.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "msda/error.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "runtime/tuner/serve.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/tuning.hpp"

namespace msda::cli {
namespace {

void print(Session& session, const TuneOptions& options, const TuneResults& r) {
    if (options.json) {
        session.out() << Json{{"records", r.json},      {"skipped", r.skipped},  {"out_of_time", r.out_of_time},
                              {"configs", r.configs},   {"seconds", r.seconds},  {"searched_s", r.searched_s},
                              {"opened_s", r.opened_s}, {"waited_s", r.waited_s}}
                             .dump(2)
                      << '\n';
        return;
    }
    if (!r.table.empty()) r.table.print(session.out());
    if (r.tuned > 0)
        session.out() << fmt::format(
            "{} problems, {} configs in {:.1f} s ({:.1f} a second); {:.1f} s for inputs and references, {:.1f} s of "
            "waiting for compiles\n",
            r.tuned, r.configs, r.seconds, r.configs / std::max(r.seconds, 1e-3), r.opened_s, r.waited_s);
    if (r.skipped > 0) session.out() << fmt::format("{} already tuned, skipped\n", r.skipped);
}

void run_tune(CLI::App& command, Session& session, const TuneOptions& options) {
    std::vector<TuneTarget> targets = targets_of(command, session, options);
    const Shard shard = parse_shard(options.shard);
    std::size_t index = 0;
    std::erase_if(targets, [&](const TuneTarget&) { return !shard.has(index++); });
    for (const TuneTarget& target : targets) data_of(options, target);  // refused before anything is measured
    Tuning tuning(session, options);
    tuning.all(std::move(targets));
    const TuneResults& results = tuning.results();
    print(session, options, results);
    if (tuning.stopped()) throw Error(Code::interrupted, "stopped; what was tuned is saved, --resume goes on");
    if (results.out_of_time > 0)
        throw Error(Code::interrupted,
                    fmt::format("--total: no time was left for {} problems; what was tuned is saved, --resume goes on",
                                results.out_of_time));
    if (results.failed > 0)
        throw Error(results.failure, fmt::format("{} problems could not be tuned, the warnings say why; what was tuned "
                                                 "is saved",
                                                 results.failed));
    if (results.faults > 0)
        throw Error(Code::driver_failed,
                    fmt::format("{} candidates broke the device; the best of the others are saved", results.faults));
}

int run_worker(Session& session) {
    // Ctrl-C, `timeout` and batch systems reach the whole group; the parent decides what happens, and closes the pipe.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    GpuTrack track(session.runtime());
    return serve(track, STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace

void add_tune(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand(
        "tune", "Search the fastest configs of problems on this GPU and keep them in a database (docs/tuning.md)");
    const auto options = std::make_shared<TuneOptions>();
    command->add_option("shapes", options->shapes, "names or globs of shipped shapes: ddetr-*");
    options->problem.add(*command, true);
    command->add_option("--device", options->device, "gpu or gpu:N");
    command->add_option("--db", options->db, "database that gets the winners; default: the user's");
    add_number(*command, "--budget", options->budget, 0.1, 86400, "seconds a problem at most; default 30");
    add_number(*command, "--total", options->total, 0, 86400,
               "seconds for all problems together, shared out evenly as they come; default 0: no limit");
    add_number(*command, "--margin", options->margin, 0, 50,
               "percent that a winner must gain on the default; default 1");
    add_integer(*command, "--seed", options->seed, 0, INT64_MAX, "order of the search and inputs; default 1");
    add_integer(*command, "--patience", options->patience, 0, 1 << 20,
                "stop screening after so many configs without a new best; default 0: never");
    add_integer(*command, "--explore", options->explore, 1, 1 << 20,
                "configs to take at random beside those that lie next to the best; default 96");
    add_integer(*command, "--jobs", options->jobs, 0, 1024, "compile threads; default 0: all but one");
    command->add_option("--data", options->data,
                        "kinds of data, some of model,uniform,captured; default model,uniform, or captured tensors "
                        "where there are any");
    command->add_option("--capture", options->capture,
                        "tune what an application launched under MSDA_CAPTURE=DIR, or one problem's directory in it");
    command->add_option("--shard", options->shard,
                        "PART/PARTS: only this part of the problems, as one of many nodes does");
    command->add_flag("--resume", options->resume, "skip what the database holds a complete record of");
    command->add_flag("--simulate", options->simulate, "no GPU: made-up times, marked as simulated");
    command->add_flag("--in-process", options->in_process, "run candidates here instead of in a worker process");
    command->add_flag("--json", options->json, "one JSON object on stdout");
    command->callback([command, options, &session] { run_tune(*command, session, *options); });
}

void add_worker(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("worker", "Runs candidates for msda tune; not for people")->group("");
    command->callback([&session] {
        if (run_worker(session) != 0) throw Error(Code::driver_failed, "a candidate broke the device");
    });
}

}  // namespace msda::cli
