// What `msda tune` does with each problem, apart from its options.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tuner/tune.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/session.hpp"

namespace msda::cli {

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
