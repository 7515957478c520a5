// The loop over problems, and what is kept of each.
#include "tools/cli/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "runtime/parallel.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "runtime/tuner/gpu_tuning.hpp"
#include "runtime/tuner/serve.hpp"
#include "runtime/tuner/simulated_track.hpp"
#include "runtime/tuner/trials_file.hpp"
#include "tools/cli/numbers.hpp"
#include "tuning_db/database_file.hpp"

namespace msda::cli {
namespace {

std::string database_path(const TuneOptions& options) {
    const std::string path = options.db.empty() ? LayersOptions::from_environment().user_file : options.db;
    if (path.empty())
        throw Error(Code::invalid_argument, "--db: expected a file, since neither HOME nor XDG_DATA_HOME is set");
    return path;
}

std::unique_ptr<Track> make_track(Session& session, const TuneOptions& options) {
    if (options.simulate) return std::make_unique<SimulatedTrack>();
    if (options.in_process) return std::make_unique<GpuTrack>(session.runtime());
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    return std::make_unique<RemoteTrack>(std::vector<std::string>{self, "worker"});
}

// A simulated compile: the config is its own code.
Binary simulated_code(const Config& config) { return {{}, canonical(config), ""}; }

std::string command_of(const TuneOptions& options, const TuneTarget& target, const TuneRequest& request) {
    const std::string what = target.captured.empty() ? fmt::format("--problem '{}'", canonical(target.what.problem))
                                                     : fmt::format("--capture '{}'", target.captured);
    return fmt::format("msda tune {} --budget {:.4g} --seed {} --data {}{}", what, request.search.budget_s,
                       options.seed, fmt::join(request.track.data, ","), options.simulate ? " --simulate" : "");
}

bool is_bad(Fate fate) { return fate == Fate::faulted || fate == Fate::wrong || fate == Fate::no_time; }

Json json_of(const TuneTarget& target, const TuneOutcome& outcome) {
    Json bad = Json::array();
    for (const Trial& trial : outcome.trials)
        if (is_bad(trial.fate))
            bad.push_back({{"config", canonical(trial.config)}, {"fate", name(trial.fate)}, {"why", trial.why}});
    Json json = Json::parse(to_line(outcome.record));
    json["shape"] = target.what.shape;
    json["how"] = outcome.why;
    json["seconds"] = outcome.seconds;
    json["opened_s"] = outcome.opened_s;
    json["waited_s"] = outcome.waited_s;
    json["rejected"] = std::move(bad);
    return json;
}

}  // namespace

Tuning::Tuning(Session& session, const TuneOptions& options)
    : session_(session), options_(options), path_(database_path(options)), time_(options.total, options.budget) {
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

bool Tuning::known(const TuneTarget& target) const {
    const Record* record = known_.find(canonical(target.what.problem), key_of(silicon_));
    return record != nullptr && record->policy >= policy_complete;
}

TuneRequest Tuning::request_of(const TuneTarget& target, double budget_s) const {
    TuneRequest request;
    request.problem = target.what.problem;
    request.silicon = silicon_;
    request.search.budget_s = budget_s;
    request.search.explore = static_cast<int>(options_.explore);
    request.search.patience = static_cast<int>(options_.patience);
    request.search.seed = static_cast<std::uint64_t>(options_.seed);
    request.search.margin = options_.margin / 100;
    request.track.ordinal = device_.ordinal;
    request.track.seed = static_cast<std::uint64_t>(options_.seed);
    request.track.data = data_of(options_, target);
    request.track.captured = target.captured;
    request.compile_threads = static_cast<int>(options_.jobs);
    request.stop = &stop_.asked();
    return request;
}

CompileCandidate Tuning::compiler_of(const TuneTarget& target) const {
    if (options_.simulate) return simulated_code;
    return gpu_compiler(session_.runtime(), target.what.problem, device_);
}

// Nothing where it cannot be: the search itself will say why.
Tuning::Ahead Tuning::compile_ahead(const TuneTarget& target) const try {
    const std::vector<Config> configs = space(target.what.problem, silicon_);
    std::vector<Config> first;
    for (const int candidate :
         search_order(static_cast<int>(configs.size()), static_cast<std::uint64_t>(options_.seed)))
        if (first.size() < static_cast<std::size_t>(options_.explore))
            first.push_back(configs[static_cast<std::size_t>(candidate)]);
    return std::make_unique<CompileAhead>(compiler_of(target), std::move(first),
                                          thread_count(static_cast<int>(options_.jobs)));
} catch (const Error&) {
    return nullptr;
}

void Tuning::all(std::vector<TuneTarget> targets) {
    if (options_.resume)
        results_.skipped = static_cast<int>(std::erase_if(targets, [&](const auto& target) { return known(target); }));
    const double start = now_s();
    Ahead ahead;
    for (std::size_t i = 0; i < targets.size() && !stop_.asked(); i++) {
        const double begin = now_s();
        const double budget = time_.share(targets.size() - i, begin - start);
        if (budget < SharedTime::least_search) {
            results_.out_of_time = static_cast<int>(targets.size() - i);
            break;
        }
        const Ahead now = std::move(ahead);
        if (i + 1 < targets.size()) ahead = compile_ahead(targets[i + 1]);
        const double searched_before = results_.searched_s;
        one(targets[i], budget, now.get());
        time_.took(now_s() - begin, results_.searched_s - searched_before);
    }
    results_.seconds = now_s() - start;
}

// A problem that cannot be tuned does not stop the others; a database that cannot be written does.
void Tuning::one(const TuneTarget& target, double budget_s, CompileAhead* ahead) try {
    const NamedProblem& what = target.what;
    TuneRequest request = request_of(target, budget_s);
    TuneProgressLine line(
        session_, fmt::format("{} {} {}", what.shape, name(what.problem.pass), name(what.problem.value)), budget_s);
    request.progress = [&](const TuneProgress& progress) { line.show(progress); };
    const CompileCandidate compile =
        ahead ? [ahead](const Config& config) { return (*ahead)(config); } : compiler_of(target);
    keep(target, tune(request, *track_, compile), command_of(options_, target, request));
} catch (const Error& error) {
    if (error.code() == Code::interrupted || error.code() == Code::io_failed || error.code() == Code::bad_file) throw;
    results_.failed++;
    results_.failure = error.code();
    session_.err() << fmt::format("msda: warning: not tuned: {}: {}\n", target.what.shape, error.what());
}

void Tuning::keep(const TuneTarget& target, TuneOutcome outcome, const std::string& command) {
    Record& record = outcome.record;
    label(record, session_.runtime(), options_.simulate ? std::nullopt : std::optional(device_));
    record.command = command;
    Database database;
    database.add(record);
    known_ = save_database(files_, path_, database);
    save_trials(files_, path_, {record.problem, record.silicon, outcome.trials});
    // Each candidate that broke the device or computed something wrong is a bug of the generator.
    for (const Trial& trial : outcome.trials)
        if (is_bad(trial.fate))
            session_.err() << fmt::format("msda: warning: config rejected ({}): {}: {}\n", name(trial.fate),
                                          canonical(trial.config), trial.why);
    std::string kinds;
    for (const auto& [kind, us] : record.time.cold) kinds += (kinds.empty() ? "" : ",") + kind;
    results_.table.add({target.what.shape, std::string(name(target.what.problem.pass)),
                        std::string(name(target.what.problem.value)), kinds, duration_text(record.default_us),
                        duration_text(record.time_us), fmt::format("{:.2f}x", record.speedup()),
                        fmt::format("{}", outcome.timed), outcome.why});
    results_.json.push_back(json_of(target, outcome));
    results_.tuned++;
    results_.configs += outcome.timed;
    results_.searched_s += outcome.seconds;
    results_.opened_s += outcome.opened_s;
    results_.waited_s += outcome.waited_s;
    for (const Trial& trial : outcome.trials) results_.faults += trial.fate == Fate::faulted;
}

}  // namespace msda::cli
