// Tunes one problem: drives a search with compile threads on the host and a track on the device, and turns its end into
// a record.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tuner/search.hpp"
#include "runtime/tuner/track.hpp"
#include "tuning_db/record.hpp"

namespace msda {

// Compiles a candidate; called from several threads at once. Throws Error.
using CompileCandidate = std::function<Binary(const Config& config)>;

// Where the search stands, for a progress line.
struct TuneProgress {
    double done = 0;  // 0..1
    int settled = 0;  // candidates whose fate is known
    int candidates = 0;
    double speedup = 1;  // of the leader over the default
};

// What to tune and with what.
struct TuneRequest {
    Problem problem;  // normalised
    Silicon silicon;
    std::vector<Config> candidates;  // the default first; empty: space(problem, silicon)
    SearchSettings search;
    TrackSettings track;
    int compile_threads = 0;                            // 0: all hardware threads but one
    std::size_t most_loaded = 32;                       // modules on the device at a time
    const std::atomic<bool>* stop = nullptr;            // set by a signal: ends the search with what is known
    std::function<void(const TuneProgress&)> progress;  // called a few times a second, from the calling thread
};

// One candidate's story, for reports.
struct Trial {
    Config config;
    Fate fate = Fate::waiting;
    std::string why;
    std::int64_t samples = 0;
    double time_us = 0;  // median of the objective; 0: never timed
    Figures figures;
};

struct TuneOutcome {
    Record record;              // label fields (gpu, driver, nvrtc, command, date) are left for the caller
    std::vector<Trial> trials;  // in the order of the candidates
    std::string why;            // how the winner was found
    double seconds = 0;         // of the search
    double opened_s = 0;        // before it: inputs and reference
    double waited_s = 0;        // of the search, with nothing to do for the device but wait for a compile
    int timed = 0;              // candidates verified and timed
};

// Runs the search to its end, the budget's end or `stop`. Throws Error: invalid_argument for an empty space,
// verify_failed when the default itself is wrong, and what the track throws where the device is lost; interrupted when
// stopped before the default was timed.
TuneOutcome tune(const TuneRequest& request, Track& track, const CompileCandidate& compile);

}  // namespace msda
