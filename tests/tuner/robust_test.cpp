// Robust statistics and races: known values, spikes that do not count, drift that cancels.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/measure/robust.hpp"
#include "runtime/tuner/race.hpp"

using namespace msda;

TEST_SUITE_BEGIN("tuner");

TEST_CASE("median and MAD of known sets") {
    CHECK(median(std::vector<double>{}) == 0);
    CHECK(median(std::vector<double>{3}) == 3);
    CHECK(median(std::vector<double>{4, 1}) == 2.5);
    CHECK(median(std::vector<double>{9, 1, 5, 2}) == 3.5);
    CHECK(median(std::vector<double>{9, 1, 5}) == 5);
    CHECK(median_absolute_deviation(std::vector<double>{1, 2, 3, 4, 100}) == 1);
}

TEST_CASE("the middle mean's error tells the truth on normal noise with spikes") {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 1);
    int covered = 0;
    for (int trial = 0; trial < 1000; trial++) {
        std::vector<double> values;
        for (int i = 0; i < 40; i++) values.push_back(i % 50 == 7 ? 20 : noise(random));
        const Location location = middle_mean(values);
        covered += std::abs(location.center) < 2 * location.error;
    }
    CHECK(covered > 900);
    CHECK(covered < 980);
    CHECK(std::isinf(middle_mean(std::vector<double>{1, 2, 3}).error));
}

TEST_CASE("every round runs each entrant once; drift cancels in pairs") {
    Race race({0, 4, 9}, 5);
    std::vector<int> runs(10, 0);
    for (int i = 0; i < 90; i++) {
        const int who = race.next();
        runs[static_cast<std::size_t>(who)]++;
        race.record(who * 0.1 + race.rounds() * 0.5);
    }
    CHECK(runs == std::vector<int>{30, 0, 0, 0, 30, 0, 0, 0, 0, 30});
    CHECK(race.rounds() == 30);
    CHECK(race.compare(4, 0).center == doctest::Approx(0.4));
    CHECK(race.compare(4, 0).error == doctest::Approx(0).epsilon(1e-9));
    CHECK(race.ranked() == std::vector<int>{0, 4, 9});
}

TEST_CASE("an entrant can leave at any place of a round") {
    for (int steps = 0; steps < 9; steps++)
        for (const int leaver : {1, 2, 3}) {
            Race race({1, 2, 3}, 7);
            for (int i = 0; i < steps; i++) race.record(0);
            race.remove(leaver);
            CHECK_FALSE(race.holds(leaver));
            for (int i = 0; i < 20; i++) {
                REQUIRE(race.next() != leaver);
                if (i % 3)
                    race.record(0);
                else
                    race.miss();
            }
        }
}

TEST_SUITE_END();
