// A race: entrants run in interleaved rounds, so that whatever drifts (temperature, other work) meets all of them
// alike, and are compared in pairs within each round.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "runtime/measure/robust.hpp"

namespace msda {

class Race {
  public:
    // `entrants` are candidate numbers, no two alike; `seed` shuffles the order within each round.
    Race(std::vector<int> entrants, std::uint64_t seed);

    // Who runs next; the same until record() or miss() answers. Call with at least one entrant.
    int next() const { return order_[place_]; }

    // The run of next(): its logarithm of the time, or that it gave none this round.
    void record(double log_time);
    void miss();

    // Takes an entrant out; its finished runs stay.
    void remove(int entrant);

    bool holds(int entrant) const;
    const std::vector<int>& entrants() const { return entrants_; }
    int rounds() const { return round_; }  // complete ones
    bool at_round_start() const { return place_ == 0; }
    int runs(int entrant) const;  // of one entrant so far

    // log(time a / time b) over the rounds in which both ran: < 0 where a is faster. Drift cancels, since both runs of
    // a pair are of one round.
    Location compare(int a, int b) const;

    // Entrants by the number of others each beats in pairs, best first; ties by the sum of the differences.
    std::vector<int> ranked() const;

  private:
    void advance();
    void begin_round();

    std::vector<int> entrants_;
    std::vector<int> order_;
    std::size_t place_ = 0;
    int round_ = 0;
    std::mt19937_64 random_;
    std::map<int, std::map<int, double>> times_;  // by entrant, by round
};

}  // namespace msda
