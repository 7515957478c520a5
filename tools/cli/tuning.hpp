// Tunes a list of problems one after the other, each winner saved before the next begins, the next one's candidates
// compiled while this one's finalists race.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tuner/compile_ahead.hpp"
#include "runtime/tuner/track.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/tune.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/file_system.hpp"

namespace msda::cli {

// What came of all problems so far.
struct TuneResults {
    Table table{{"shape", "pass", "dtype", "data", "default", "tuned", "speed-up", "configs", "how"}};
    Json json = Json::array();
    int tuned = 0;
    int configs = 0;        // verified and timed, over all problems
    double seconds = 0;     // from the first problem's begin to the last one's end
    double searched_s = 0;  // in searches
    double waited_s = 0;    // in searches, of the device for compiles
    double opened_s = 0;    // for inputs and references
    int faults = 0;
    int skipped = 0;
    int out_of_time = 0;  // problems that --total left no time for
    int failed = 0;       // problems that could not be tuned
    Code failure{};       // of the last of them
};

class Tuning {
  public:
    // Finds the device and proves that the database can be read and written. Session and options must outlive this
    // object. Throws Error.
    Tuning(Session& session, const TuneOptions& options);

    // Tunes them in order until the end, the end of the common time, or a signal. Throws Error(io_failed, bad_file)
    // where nothing can be saved.
    void all(std::vector<TuneTarget> targets);

    const TuneResults& results() const { return results_; }
    bool stopped() const { return stop_.asked(); }

  private:
    using Ahead = std::unique_ptr<CompileAhead>;
    bool known(const TuneTarget& target) const;
    TuneRequest request_of(const TuneTarget& target, double budget_s) const;
    CompileCandidate compiler_of(const TuneTarget& target) const;
    Ahead compile_ahead(const TuneTarget& target) const;
    void one(const TuneTarget& target, double budget_s, CompileAhead* ahead);
    void keep(const TuneTarget& target, TuneOutcome outcome, const std::string& command);

    Session& session_;
    const TuneOptions& options_;
    const std::string path_;
    FileSystem files_;
    StopOnSignal stop_;
    SharedTime time_;
    Device device_;
    Silicon silicon_;
    std::unique_ptr<Track> track_;
    Database known_;
    TuneResults results_;
};

}  // namespace msda::cli
