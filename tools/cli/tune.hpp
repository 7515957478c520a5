// The parts of `msda tune`: its options, what it works on, signals, shards, the progress line.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tuner/tune.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/session.hpp"

namespace msda::cli {

struct TuneOptions {
    ProblemOptions problem;
    std::vector<std::string> shapes;
    std::string device = "gpu", db, shard, data, capture;
    double budget = 30, total = 0, margin = 1;
    std::int64_t seed = 1, patience = 0, explore = 96, jobs = 0;
    bool resume = false, simulate = false, in_process = false, json = false;
};

// One problem to tune; `captured`: the directory of its captured tensors, empty where there are none.
struct TuneTarget {
    NamedProblem what;
    std::string captured;
};

// What the options ask for: names and globs, problem options, or the problems of a capture, whose complaints go to the
// session. Throws Error(invalid_argument) where two of these are mixed.
std::vector<TuneTarget> targets_of(CLI::App& command, const Session& session, const TuneOptions& options);

// The kinds of data a target is measured on: as asked, else its captured tensors, else model-like and uniform
// locations. Throws Error(invalid_argument) for captured data where none are.
std::vector<std::string> data_of(const TuneOptions& options, const TuneTarget& target);

// Set by SIGINT and SIGTERM while it lives; the handlers before it come back afterwards.
class StopOnSignal {
  public:
    StopOnSignal();
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    const std::atomic<bool>& asked() const;

  private:
    void (*old_interrupt_)(int);
    void (*old_terminate_)(int);
};

// "2/7" as part 2 of 7, counted from 1.
struct Shard {
    std::size_t part = 1;
    std::size_t parts = 1;
    // Every parts-th problem, so that each shard gets its share of large and small ones.
    bool has(std::size_t index) const { return index % parts == part - 1; }
};
// Throws Error(invalid_argument).
Shard parse_shard(const std::string& text);

// Shape ids that match any of the patterns ("ddetr-*", "bev-?sa"), in the order of the table, joined by commas. Throws
// Error(invalid_problem) for a pattern that matches none.
std::string matching_shapes(const std::vector<std::string>& patterns);

// Seconds that each of several searches may take of a common time: an equal share of what is left, less what the ones
// before took beside searching. Where that would be too little to find anything, `useful_search` while the time lasts:
// some are searched well and the rest another time.
class SharedTime {
  public:
    // `total` 0: no common limit. `each`: the most that one search gets.
    SharedTime(double total, double each) : total_(total), each_(each) {}

    // For the next of `left` searches, `now` seconds after the start; below `least_search` there is no use in it.
    double share(std::size_t left, double now) const;
    // A search is over: it took `wall` seconds, `searched` of them searching.
    void took(double wall, double searched);

    static constexpr double least_search = 0.5, useful_search = 2.5;

  private:
    double total_;
    double each_;
    double beside_ = 0;  // sum over searches of time not spent searching
    int searches_ = 0;
};

// Seconds since some moment before the process began; never goes back.
double now_s();

// A progress line with time left on the session's err; silent where nobody watches.
class TuneProgressLine {
  public:
    TuneProgressLine(const Session& session, std::string what, double budget_s);
    ~TuneProgressLine();
    TuneProgressLine(const TuneProgressLine&) = delete;
    TuneProgressLine& operator=(const TuneProgressLine&) = delete;
    void show(const TuneProgress& progress);

  private:
    const Session& session_;
    std::string what_;
    double budget_s_;
    double started_;
};

}  // namespace msda::cli
