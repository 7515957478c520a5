// Signals, shards, globs and the progress line of msda tune.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "msda/error.hpp"
#include "runtime/capture.hpp"
#include "runtime/shapes.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/tune.hpp"

namespace msda::cli {
namespace {

std::atomic<bool> signalled = false;  // the one thing a signal handler may touch
static_assert(std::atomic<bool>::is_always_lock_free);

// The first signal asks for an orderly end; the next one of its kind ends the process.
void on_signal(int number) {
    signalled = true;
    std::signal(number, SIG_DFL);
}

}  // namespace

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double SharedTime::share(std::size_t left, double now) const {
    if (total_ <= 0) return each_;
    const double beside = searches_ > 0 ? beside_ / searches_ : 0;
    const double left_s = total_ - now;
    return std::min({each_, std::max(left_s / static_cast<double>(left) - beside, useful_search), left_s - beside});
}

void SharedTime::took(double wall, double searched) {
    beside_ += std::max(wall - searched, 0.0);
    searches_++;
}

StopOnSignal::StopOnSignal() {
    signalled = false;
    old_interrupt_ = std::signal(SIGINT, on_signal);
    old_terminate_ = std::signal(SIGTERM, on_signal);
}

StopOnSignal::~StopOnSignal() {
    std::signal(SIGINT, old_interrupt_);
    std::signal(SIGTERM, old_terminate_);
}

const std::atomic<bool>& StopOnSignal::asked() const { return signalled; }

Shard parse_shard(const std::string& text) {
    if (text.empty()) return {};
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos)
        throw Error(Code::invalid_argument, fmt::format("--shard: expected PART/PARTS, got '{}'", text.substr(0, 64)));
    const std::int64_t parts = parse_integer("--shard PART/PARTS", text.substr(slash + 1), 1, 1 << 20);
    const std::int64_t part = parse_integer("--shard PART/PARTS", text.substr(0, slash), 1, parts);
    return {static_cast<std::size_t>(part), static_cast<std::size_t>(parts)};
}

std::string matching_shapes(const std::vector<std::string>& patterns) {
    std::vector<bool> used(patterns.size(), false);
    std::string list;
    for (const ModelShape& shape : model_shapes()) {
        bool matches = false;
        for (std::size_t i = 0; i < patterns.size(); i++)
            if (fnmatch(patterns[i].c_str(), std::string(shape.id).c_str(), 0) == 0) matches = used[i] = true;
        if (matches) list += fmt::format("{}{}", list.empty() ? "" : ",", shape.id);
    }
    for (std::size_t i = 0; i < patterns.size(); i++)
        if (!used[i])
            throw Error(Code::invalid_problem,
                        fmt::format("no shape matches '{}' (msda shapes lists all)", patterns[i]));
    return list;
}

std::vector<TuneTarget> targets_of(CLI::App& command, const Session& session, const TuneOptions& options) {
    std::vector<TuneTarget> targets;
    CLI::Option* shape = command.get_option("--shape");
    const bool named = !options.shapes.empty();
    if (!options.capture.empty()) {
        for (const char* other : {"--shape", "--all-shapes", "--problem", "--levels"})
            if (named || command.get_option(other)->count() > 0)
                throw Error(Code::invalid_argument, "--capture: expected no other problems beside the captured ones");
        std::vector<std::string> complaints;
        for (const Captured& one : read_captures(options.capture, complaints))
            targets.push_back({{one.directory.filename().string(), one.problem},
                               one.tensors ? one.directory.string() : std::string()});
        for (const std::string& complaint : complaints) session.err() << fmt::format("msda: warning: {}\n", complaint);
        return targets;
    }
    if (named) {
        if (shape->count() > 0) throw Error(Code::invalid_argument, "shapes: expected names or --shape, got both");
        shape->add_result(matching_shapes(options.shapes));
        shape->run_callback();
    }
    for (NamedProblem& what : options.problem.problems()) targets.push_back({std::move(what), {}});
    return targets;
}

std::vector<std::string> data_of(const TuneOptions& options, const TuneTarget& target) {
    if (options.data.empty())
        return target.captured.empty() ? TrackSettings().data : std::vector<std::string>{"captured"};
    std::vector<std::string> kinds = split_list(options.data);
    if (target.captured.empty() && std::ranges::find(kinds, "captured") != kinds.end())
        throw Error(
            Code::invalid_argument,
            fmt::format("--data captured: no tensors were captured of {} (MSDA_CAPTURE_DATA=1)", target.what.shape));
    return kinds;
}

TuneProgressLine::TuneProgressLine(const Session& session, std::string what, double budget_s)
    : session_(session), what_(std::move(what)), budget_s_(budget_s), started_(now_s()) {}

TuneProgressLine::~TuneProgressLine() {
    if (session_.terminal()) session_.err() << "\r\033[K" << std::flush;
}

void TuneProgressLine::show(const TuneProgress& progress) {
    if (!session_.terminal()) return;
    constexpr int width = 24;
    const double spent = now_s() - started_;
    const double by_rate = progress.done > 0.02 ? spent / progress.done - spent : budget_s_;
    const int filled = static_cast<int>(progress.done * width);
    session_.err() << fmt::format("\r\033[K{} [{:=<{}}{: <{}}] {}/{} configs, {:.2f}x the default, {:.0f} s left",
                                  what_, "", filled, "", width - filled, progress.settled, progress.candidates,
                                  progress.speedup, std::min(by_rate, std::max(budget_s_ - spent, 0.0)))
                   << std::flush;
}

}  // namespace msda::cli
