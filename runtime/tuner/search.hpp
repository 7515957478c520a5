// The search for the fastest config of one problem, as a state machine: it has no clock, no device and no threads. A
// driver (runtime/tuner/tune.hpp) asks what to do next and reports what came of it.
//
// Candidates are compiled in seeded order, the default first, in turn with neighbours of the best so far; each is
// verified, then screened by a few samples against the default's drifting level; the best go through two heats of
// interleaved rounds into a final, which runs until the leader is clear of the others and of the default. Candidate 0
// is the default: it takes part in everything and wins unless another is faster by the margin beyond doubt.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/tuner/clock_filter.hpp"
#include "runtime/tuner/race.hpp"

namespace msda {

// How long and how carefully to search.
struct SearchSettings {
    double budget_s = 30;  // screening stops at half of it, heats at three quarters
    int explore = 96;      // candidates taken at random, beside the neighbours of the best; without neighbours: all
    int patience = 0;      // stop screening after so many candidates in a row brought no new best; 0: screen all
    std::uint64_t seed = 1;
    double margin = 0.01;     // a winner is faster than the default by at least this part
    int longest_final = 400;  // rounds
};

// One timing of one candidate: µs for each kind of data, and the SM clock meanwhile.
struct Sample {
    std::vector<double> us;
    int sm_mhz = 0;  // 0: unknown
};

// What became of a candidate.
enum class Fate : std::uint8_t {
    waiting,  // not compiled yet
    compiling,
    ready,      // compiled, not yet verified
    verified,   // right; being screened
    screened,   // in or past the heats, or left behind by them
    dropped,    // hopelessly slow in screening
    duplicate,  // of another candidate: same machine code and launch
    compile_failed,
    wrong,    // its output differs from the reference
    faulted,  // it broke the device
    no_time,  // its times were not positive numbers
    skipped,  // the budget or patience ended before its turn
};
std::string_view name(Fate fate);

// What to do next. `warm`: of a measurement, with L2 warm instead of flushed.
struct Action {
    enum class Kind : std::uint8_t { wait, verify, measure, done } kind = Kind::done;
    int candidate = 0;
    bool warm = false;
};

// All that is known of one candidate.
struct Candidate {
    Fate fate = Fate::waiting;
    std::string why;           // of a bad fate
    std::string digest;        // of machine code and launch
    std::vector<Sample> cold;  // all accepted samples
    std::vector<Sample> warm;
    int bad_times = 0;
};

// The answer; valid at any time.
struct SearchResult {
    int winner = 0;
    bool complete = false;  // the final came to its own end
    std::string why;        // one sentence: how the winner was found
    int first_sample = 0;   // of Candidate::cold, for winner and default alike: samples before it are of earlier heats
    int default_first_sample = 0;
};

class Search {
  public:
    // The numbers of the candidates next to one: configs that differ by one step in one respect.
    using NeighboursOf = std::function<std::vector<int>(int candidate)>;

    // `candidates` ≥ 1, number 0 the default. No neighbours: all candidates are screened.
    Search(int candidates, SearchSettings settings, NeighboursOf neighbours = {});

    // The next candidate to compile, taken as being compiled from now on. Nothing: ask again after the next report, or
    // never where no_more_compiles().
    std::optional<int> next_compile();
    bool no_more_compiles() const { return to_compile_.empty(); }
    void compiled(int candidate, const std::string& digest);
    void compile_failed(int candidate, const std::string& why);

    // What the device should do now, `seconds` after the start. wait: for a compile.
    Action next(double seconds);

    // What came of a verify or measure action.
    void verified(int candidate);
    void wrong(int candidate, const std::string& why);
    void faulted(int candidate, const std::string& why);
    void measured(int candidate, bool warm, const Sample& sample);

    // Throws Error(verify_failed) when the default itself failed, since nothing can be judged without it.
    SearchResult result() const;

    const std::vector<Candidate>& candidates() const { return candidates_; }
    const ClockFilter& clocks() const { return clocks_; }
    // Roughly how much is done, 0..1, for a progress bar.
    double progress(double seconds) const;
    // The fastest candidate so far and its time over the default's, by the current stage.
    std::pair<int, double> leader() const;

  private:
    enum class Stage : std::uint8_t { screening, first_heat, second_heat, final, over };

    Action next_screening(double seconds);
    Action next_race(double seconds);
    bool advance_race();
    void close_screening();
    void start_race(std::vector<int> entrants, std::size_t keep, Stage stage);
    void judge_final();
    void screen(int candidate, double log_time);
    void retire(int candidate, Fate fate, const std::string& why);
    std::optional<int> next_neighbour();
    std::optional<int> next_screened();
    void finish(bool complete, const std::string& why);
    double level() const;  // the default's current log time
    bool default_ready() const { return default_levels_.size() >= 5; }

    SearchSettings settings_;
    std::vector<Candidate> candidates_;
    NeighboursOf neighbours_;
    std::map<int, std::vector<int>> near_;  // answers of neighbours_
    int explored_ = 0;                      // candidates given to compile in seeded order
    bool climb_next_ = false;               // random candidates and neighbours take turns
    int compiling_ = 0;
    std::deque<int> ready_;            // compiled, in that order; some may have another fate by now
    std::optional<int> screened_now_;  // verified last, but for the default
    std::deque<int> to_compile_;       // not yet given, in seeded order
    std::map<std::string, int> by_digest_;
    ClockFilter clocks_;
    Stage stage_ = Stage::screening;
    std::map<int, std::vector<double>> screen_;  // log time over the default's level
    std::deque<double> default_levels_;          // last log times of the default
    int since_default_ = 0;                      // screening measurements since the default's last
    int since_best_ = 0;                         // candidates screened since the last new best
    double best_screen_ = 0;
    std::optional<Race> race_;
    std::map<int, int> race_start_;  // samples each entrant had when the race began
    std::deque<int> warm_due_;       // candidates whose warm sample comes next
    bool complete_ = false;
    std::string why_;
};

// The order in which a search takes candidates that it has no better reason for: the default, then all others, shuffled
// by the seed.
std::vector<int> search_order(int candidates, std::uint64_t seed);

// Geometric mean of a sample over the kinds of data; not positive or not finite when any time is.
double objective(const Sample& sample);

}  // namespace msda
