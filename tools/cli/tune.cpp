// msda tune: searches the configs of many problems and keeps the winners; msda worker: its other half, where candidates
// run.
#include "tools/cli/tune.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "runtime/device_info.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "runtime/tuner/gpu_tuning.hpp"
#include "runtime/tuner/serve.hpp"
#include "runtime/tuner/simulated_track.hpp"
#include "runtime/tuner/trials_file.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/table.hpp"
#include "tuning_db/check.hpp"
#include "tuning_db/database_file.hpp"

namespace msda::cli {
namespace {

struct TuneOptions {
    ProblemOptions problem;
    std::vector<std::string> shapes;
    std::string device = "gpu", db, shard, data = "model,uniform";
    double budget = 30, margin = 1;
    std::int64_t seed = 1, patience = 0, jobs = 0;
    bool resume = false, simulate = false, in_process = false, json = false;
};

// What came of all problems so far.
struct Results {
    Table table{{"shape", "pass", "dtype", "default", "tuned", "speed-up", "configs", "how"}};
    Json json = Json::array();
    int faults = 0;
    int skipped = 0;
    std::string failure;  // of the last problem that could not be tuned
};

std::string database_path(const TuneOptions& options) {
    const std::string path = options.db.empty() ? LayersOptions::from_environment().user_file : options.db;
    if (path.empty())
        throw Error(Code::invalid_argument, "--db: expected a file, since neither HOME nor XDG_DATA_HOME is set");
    return path;
}

// Names and globs stand for --shape.
std::vector<NamedProblem> problems_of(CLI::App& command, const TuneOptions& options) {
    if (!options.shapes.empty()) {
        CLI::Option* shape = command.get_option("--shape");
        if (shape->count() > 0) throw Error(Code::invalid_argument, "shapes: expected names or --shape, got both");
        shape->add_result(matching_shapes(options.shapes));
        shape->run_callback();
    }
    return options.problem.problems();
}

std::unique_ptr<Track> make_track(Session& session, const TuneOptions& options) {
    if (options.simulate) return std::make_unique<SimulatedTrack>();
    if (options.in_process) return std::make_unique<GpuTrack>(session.runtime());
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    return std::make_unique<RemoteTrack>(std::vector<std::string>{self, "worker"});
}

// A simulated compile: the config is its own code.
Binary simulated_code(const Config& config) { return {{}, canonical(config), ""}; }

std::string command_of(const TuneOptions& options, const std::string& problem) {
    return fmt::format("msda tune --problem '{}' --budget {} --seed {} --data {}{}", problem, options.budget,
                       options.seed, options.data, options.simulate ? " --simulate" : "");
}

TuneRequest request_of(const TuneOptions& options, const Problem& problem, const Silicon& silicon, Device device) {
    TuneRequest request;
    request.problem = problem;
    request.silicon = silicon;
    request.search.budget_s = options.budget;
    request.search.patience = static_cast<int>(options.patience);
    request.search.seed = static_cast<std::uint64_t>(options.seed);
    request.search.margin = options.margin / 100;
    request.track.ordinal = device.ordinal;
    request.track.seed = static_cast<std::uint64_t>(options.seed);
    request.track.data = split_list(options.data);
    request.compile_threads = static_cast<int>(options.jobs);
    return request;
}

void add_result(Results& results, const NamedProblem& what, const TuneOutcome& outcome) {
    const Record& record = outcome.record;
    results.table.add({what.shape, std::string(name(what.problem.pass)), std::string(name(what.problem.value)),
                       duration_text(record.default_us), duration_text(record.time_us),
                       fmt::format("{:.2f}x", record.speedup()), fmt::format("{}", outcome.timed), outcome.why});
    Json bad = Json::array();
    for (const Trial& trial : outcome.trials) {
        results.faults += trial.fate == Fate::faulted;
        if (trial.fate == Fate::faulted || trial.fate == Fate::wrong || trial.fate == Fate::no_time)
            bad.push_back({{"config", canonical(trial.config)}, {"fate", name(trial.fate)}, {"why", trial.why}});
    }
    Json json = Json::parse(to_line(record));
    json["shape"] = what.shape;
    json["how"] = outcome.why;
    json["seconds"] = outcome.seconds;
    json["rejected"] = std::move(bad);
    results.json.push_back(std::move(json));
}

// Names each candidate that broke the device or computed something wrong: it is a bug of the generator.
void name_rejected(Session& session, const TuneOutcome& outcome) {
    for (const Trial& trial : outcome.trials)
        if (trial.fate == Fate::faulted || trial.fate == Fate::wrong || trial.fate == Fate::no_time)
            session.err() << fmt::format("msda: warning: config rejected ({}): {}: {}\n", name(trial.fate),
                                         canonical(trial.config), trial.why);
}

class Tuning {
  public:
    Tuning(Session& session, const TuneOptions& options)
        : session_(session), options_(options), path_(database_path(options)) {
        if (options.simulate) {
            silicon_ = simulated_silicon();
        } else {
            device_ = session.device(options.device);
            if (device_.kind != Device::Kind::gpu)
                throw Error(Code::unsupported, "tuning needs a GPU; --simulate tries the way without one");
            silicon_ = session.runtime().silicon(device_);
        }
        track_ = make_track(session, options);
        // Found out before minutes of measuring: the file must be readable as a database and its place writable.
        known_ = save_database(files_, path_, {});
    }

    void all(const std::vector<NamedProblem>& problems, const Shard& shard) {
        for (std::size_t i = 0; i < problems.size() && !stop_.asked(); i++)
            if (shard.has(i)) one(problems[i]);
    }

    const Results& results() const { return results_; }
    bool stopped() const { return stop_.asked(); }

  private:
    void one(const NamedProblem& what) {
        const Record* record = known_.find(canonical(what.problem), key_of(silicon_));
        if (options_.resume && record && record->policy >= policy_complete) {
            results_.skipped++;
            return;
        }
        try {
            tune_one(what);
        } catch (const Error& error) {
            if (error.code() == Code::interrupted || error.code() == Code::io_failed || error.code() == Code::bad_file)
                throw;
            results_.failure = fmt::format("{}: {}", what.shape, error.what());
            session_.err() << fmt::format("msda: warning: not tuned: {}\n", results_.failure);
        }
    }

    void tune_one(const NamedProblem& what) {
        TuneRequest request = request_of(options_, what.problem, silicon_, device_);
        request.stop = &stop_.asked();
        TuneOutcome outcome;
        {
            TuneProgressLine line(
                session_, fmt::format("{} {} {}", what.shape, name(what.problem.pass), name(what.problem.value)),
                options_.budget);
            request.progress = [&](const TuneProgress& progress) { line.show(progress); };
            const CompileCandidate compile =
                options_.simulate ? simulated_code : gpu_compiler(session_.runtime(), what.problem, device_);
            outcome = tune(request, *track_, compile);
        }
        label(outcome.record, session_.runtime(), options_.simulate ? std::nullopt : std::optional(device_));
        outcome.record.command = command_of(options_, outcome.record.problem);
        Database database;
        database.add(outcome.record);
        known_ = save_database(files_, path_, database);
        save_trials(files_, path_, {outcome.record.problem, outcome.record.silicon, outcome.trials});
        name_rejected(session_, outcome);
        add_result(results_, what, outcome);
    }

    Session& session_;
    const TuneOptions& options_;
    const std::string path_;
    FileSystem files_;
    StopOnSignal stop_;
    Device device_;
    Silicon silicon_;
    std::unique_ptr<Track> track_;
    Database known_;
    Results results_;
};

void run_tune(CLI::App& command, Session& session, const TuneOptions& options) {
    const std::vector<NamedProblem> problems = problems_of(command, options);
    const Shard shard = parse_shard(options.shard);
    Tuning tuning(session, options);
    tuning.all(problems, shard);
    const Results& results = tuning.results();
    if (options.json)
        session.out() << Json{{"records", results.json}, {"skipped", results.skipped}}.dump(2) << '\n';
    else if (!results.table.empty())
        results.table.print(session.out());
    if (results.skipped > 0 && !options.json)
        session.out() << fmt::format("{} already tuned, skipped\n", results.skipped);
    if (tuning.stopped()) throw Error(Code::interrupted, "stopped; what was tuned is saved, --resume goes on");
    if (!results.failure.empty())
        throw Error(Code::verify_failed, fmt::format("not all was tuned: {}", results.failure));
    if (results.faults > 0)
        throw Error(Code::driver_failed,
                    fmt::format("{} candidates broke the device; the best of the others are saved", results.faults));
}

int run_worker(Session& session) {
    std::signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the whole group; the parent decides what happens
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
    add_number(*command, "--margin", options->margin, 0, 50,
               "percent that a winner must gain on the default; default 1");
    add_integer(*command, "--seed", options->seed, 0, INT64_MAX, "order of the search and inputs; default 1");
    add_integer(*command, "--patience", options->patience, 0, 1 << 20,
                "stop screening after so many configs without a new best; default 0: never");
    add_integer(*command, "--jobs", options->jobs, 0, 1024, "compile threads; default 0: all but one");
    command->add_option("--data", options->data, "kinds of locations: model, uniform or both");
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
