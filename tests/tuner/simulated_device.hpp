// A device of numbers for tests of the search: true times, noise, spikes, drift, throttling, wrong and faulting
// kernels, and a clock that only moves by what things cost.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/tuner/search.hpp"

namespace msda::test {

struct SimulatedDevice {
    std::vector<double> true_us;  // by candidate; number 0 is the default
    std::set<int> wrong;          // verified against a reference, these fail
    std::set<int> faulting;
    std::set<int> zero_time;
    std::map<int, std::string> digests;  // of those that are not unique
    double sigma = 0.05;                 // log-normal noise
    double spike_chance = 0.02;          // of a sample three times too long
    double drift = 0.10;                 // slower by this much at the end of the budget, with a swing on top
    std::uint64_t seed = 1;

    double seconds = 0;
    int measurements = 0;
    std::mt19937_64 random{seed};

    double sample_us(int candidate) {
        std::normal_distribution<double> noise(0, sigma);
        std::uniform_real_distribution<double> chance(0, 1);
        const double slow = 1 + drift * (seconds / 30) + drift / 4 * std::sin(seconds);
        return true_us[static_cast<std::size_t>(candidate)] * slow * std::exp(noise(random)) *
               (chance(random) < spike_chance ? 3 : 1);
    }

    // Runs a search to its end; a compile takes 0.3 s on one of 15 threads, a verification 8 ms, a sample 5 ms.
    // `stop_at`: after so many actions the search is left as it is.
    void run(Search& search, int stop_at = 1 << 30) {
        random.seed(seed);
        std::multimap<double, int> compiling;  // by time of completion
        for (int actions = 0; actions < stop_at; actions++) {
            while (compiling.size() < 15) {
                const auto next = search.next_compile();
                if (!next) break;
                compiling.emplace(seconds + 0.3, *next);
            }
            while (!compiling.empty() && compiling.begin()->first <= seconds) {
                const int done = compiling.begin()->second;
                compiling.erase(compiling.begin());
                search.compiled(done, digests.contains(done) ? digests[done] : std::to_string(done));
            }
            const Action action = search.next(seconds);
            if (action.kind == Action::Kind::done) return;
            perform(search, action, compiling);
        }
    }

  private:
    void perform(Search& search, const Action& action, const std::multimap<double, int>& compiling) {
        if (action.kind == Action::Kind::wait) {
            seconds = std::max(seconds, compiling.begin()->first);
        } else if (action.kind == Action::Kind::verify) {
            seconds += 0.008;
            if (faulting.contains(action.candidate))
                search.faulted(action.candidate, "illegal address");
            else if (wrong.contains(action.candidate))
                search.wrong(action.candidate, "element 7: expected 1, got 2");
            else
                search.verified(action.candidate);
        } else {
            seconds += 0.005;
            measurements++;
            const bool zero = zero_time.contains(action.candidate);
            const double us = zero ? 0 : sample_us(action.candidate);
            search.measured(action.candidate, action.warm,
                            {{us, zero ? std::nan("") : sample_us(action.candidate)}, 1980});
        }
    }
};

}  // namespace msda::test
