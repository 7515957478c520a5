// The search on a simulated device: small regret under noise, never worse than the default, bad candidates out by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "msda/error.hpp"
#include "runtime/tuner/neighbours.hpp"
#include "tests/matrix.hpp"
#include "tests/tuner/simulated_device.hpp"

using namespace msda;
using namespace msda::test;

namespace {

// 120 configs: most are slow, some are close to the best, and the default is `default_us` where the best is 100.
std::vector<double> landscape(std::uint64_t seed, double default_us) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> chance(0, 1);
    std::vector<double> us = {default_us, 100};
    while (us.size() < 120) us.push_back(100 * std::pow(3.0, std::pow(chance(random), 1.5)));
    std::shuffle(us.begin() + 1, us.end(), random);
    return us;
}

struct Tally {
    int searches = 0;
    int good = 0;
    int slower_than_default = 0;
    double longest_seconds = 0;
    int most_measurements = 0;
};

// 200 of them, or 30.
Tally many_seeds(double default_us, double sigma = 0.05) {
    Tally tally;
    tally.searches = whole_or_slice(200, 30);
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tally.searches); seed++) {
        SimulatedDevice device;
        device.true_us = landscape(seed, default_us);
        device.sigma = sigma;
        device.seed = seed + 1000;
        SearchSettings settings;
        settings.seed = seed;
        Search search(120, settings);
        device.run(search);
        const double found = device.true_us[static_cast<std::size_t>(search.result().winner)];
        tally.good += found <= 1.02 * *std::ranges::min_element(device.true_us);
        tally.slower_than_default += found > default_us;
        tally.longest_seconds = std::max(tally.longest_seconds, device.seconds);
        tally.most_measurements = std::max(tally.most_measurements, device.measurements);
    }
    return tally;
}

int number_of(const Search& search, Fate fate) {
    return static_cast<int>(std::ranges::count(search.candidates(), fate, &Candidate::fate));
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("regret at most 2 % in 95 % of 200 seeds, and no winner slower than the default") {
    for (const double default_us : {100.0, 101.0, 103.0, 110.0, 130.0, 200.0}) {
        const Tally tally = many_seeds(default_us);
        CAPTURE(default_us);
        CAPTURE(tally.longest_seconds);
        CAPTURE(tally.most_measurements);
        CHECK(tally.good >= 0.95 * tally.searches);
        CHECK(tally.slower_than_default == 0);
        CHECK(tally.longest_seconds <= 30);
    }
}

TEST_CASE("quiet timings end the search early") {
    const Tally tally = many_seeds(115, 0.01);
    CHECK(tally.good >= 0.99 * tally.searches);
    CHECK(tally.longest_seconds < 15);
}

TEST_CASE("a default that is the fastest is never dethroned") {
    const Tally tally = many_seeds(99);
    CHECK(tally.slower_than_default == 0);
    CHECK(tally.good == tally.searches);
}

TEST_CASE("a fast wrong kernel and an accumulating one are rejected by name") {
    SimulatedDevice device;
    device.true_us = landscape(1, 130);
    device.true_us[5] = 1;
    device.true_us[9] = 2;
    device.wrong = {5, 9};
    Search search(120, {});
    device.run(search);
    CHECK(search.candidates()[5].fate == Fate::wrong);
    CHECK(search.candidates()[9].fate == Fate::wrong);
    CHECK(search.candidates()[5].cold.empty());
    CHECK(search.candidates()[5].why.find("expected") != std::string::npos);
    CHECK(device.true_us[static_cast<std::size_t>(search.result().winner)] <= 102);
}

TEST_CASE("faults, zero and NaN times and failed compiles cost only their candidate") {
    SimulatedDevice device;
    device.true_us = landscape(2, 130);
    device.faulting = {3, 4};
    device.zero_time = {7};
    device.true_us[3] = device.true_us[7] = 1;
    Search search(120, {});
    const std::optional<int> first = search.next_compile();
    REQUIRE(first == 0);
    search.compiled(0, "0");
    const int broken = *search.next_compile();
    search.compile_failed(broken, "error: register allocation");
    device.run(search);
    CHECK(search.candidates()[3].fate == (broken == 3 ? Fate::compile_failed : Fate::faulted));
    CHECK(search.candidates()[7].fate == (broken == 7 ? Fate::compile_failed : Fate::no_time));
    CHECK(search.candidates()[static_cast<std::size_t>(broken)].fate == Fate::compile_failed);
    CHECK(search.result().winner != 7);
    CHECK(search.result().winner != 3);
    CHECK(search.result().complete);
}

TEST_CASE("identical machine code is measured once, and never in the default's place") {
    SimulatedDevice device;
    device.true_us = landscape(3, 130);
    for (int i = 0; i < 60; i++) device.digests[i] = std::to_string(i / 2);  // 0 and 1 alike, 2 and 3, …
    Search search(120, {});
    device.run(search);
    CHECK(number_of(search, Fate::duplicate) == 30);
    CHECK(search.candidates()[0].fate != Fate::duplicate);
    CHECK(search.candidates()[1].fate == Fate::duplicate);
}

TEST_CASE("a twin compiled before the default steps back") {
    Search search(3, {});
    search.next_compile();
    const int twin = *search.next_compile();
    search.compiled(twin, "same");
    search.compiled(0, "same");
    CHECK(search.candidates()[static_cast<std::size_t>(twin)].fate == Fate::duplicate);
    CHECK(search.next(0).candidate == 0);
}

TEST_CASE("without its default a search ends with the reason") {
    SimulatedDevice device;
    device.true_us = landscape(4, 130);
    device.wrong = {0};
    Search search(120, {});
    device.run(search);
    CHECK_THROWS_AS(search.result(), Error);
    CHECK(device.measurements == 0);
}

TEST_CASE("throttled samples are thrown away") {
    SimulatedDevice device;
    device.true_us = {100, 80};
    Search search(2, {});
    search.next_compile();
    search.compiled(0, "0");
    search.verified(0);
    for (int i = 0; i < 5; i++) search.measured(0, false, {{100, 100}, 1980});
    search.measured(0, false, {{170, 170}, 1200});
    CHECK(search.candidates()[0].cold.size() == 5);
    search.measured(0, false, {{100, 100}, 1965});
    CHECK(search.candidates()[0].cold.size() == 6);
    for (int i = 0; i < 40; i++) search.measured(0, false, {{170, 170}, 1200});
    CHECK(search.candidates()[0].cold.size() > 6);  // slow for good: that is the new normal
}

TEST_CASE("stopped at any point there is an answer, and it is not slower than the default") {
    for (int stop = 0; stop < 1500; stop += 50) {
        SimulatedDevice device;
        device.true_us = landscape(static_cast<std::uint64_t>(stop), 120);
        Search search(120, {});
        device.run(search, stop);
        const SearchResult result = search.result();
        CHECK(device.true_us[static_cast<std::size_t>(result.winner)] <= 120);
        CHECK_FALSE(result.why.empty());
    }
}

TEST_CASE("the budget is kept, and what was not reached is skipped by name") {
    SimulatedDevice device;
    device.true_us = landscape(6, 130);
    SearchSettings settings;
    settings.budget_s = 2;
    Search search(120, settings);
    device.run(search);
    CHECK(device.seconds < 2.1);
    CHECK(number_of(search, Fate::skipped) > 0);
    CHECK_FALSE(search.result().complete);
    CHECK(number_of(search, Fate::waiting) + number_of(search, Fate::ready) + number_of(search, Fate::compiling) == 0);
}

TEST_CASE("patience ends screening early") {
    SimulatedDevice device;
    device.true_us = landscape(7, 130);
    SearchSettings settings;
    settings.patience = 20;
    Search search(120, settings);
    device.run(search);
    CHECK(number_of(search, Fate::skipped) > 10);
    CHECK(search.result().complete);
}

TEST_CASE("with neighbours a large space is climbed, not searched whole") {
    // 4096 configs of 12 bits; each wrong bit costs 12 %, all but the last few are far from the best.
    int good = 0;
    for (std::uint64_t seed = 1; seed <= 20; seed++) {
        SimulatedDevice device;
        device.seed = seed;
        for (unsigned i = 0; i < 4096; i++) device.true_us.push_back(100 * std::pow(1.12, std::popcount(i ^ 0xa5f)));
        const auto neighbours = [](int candidate) {
            std::vector<int> others;
            for (int bit = 0; bit < 12; bit++) others.push_back(candidate ^ 1 << bit);
            return others;
        };
        SearchSettings settings;
        settings.seed = seed;
        Search search(4096, settings, neighbours);
        device.run(search);
        good += search.result().winner == 0xa5f;
        CHECK(number_of(search, Fate::skipped) > 3500);
        CHECK(search.result().complete);
        CHECK(device.seconds < 30);
    }
    CHECK(good >= 19);
}

TEST_CASE("a search without its climb would need the luck to draw the best; with it the budget is not even used") {
    SimulatedDevice device;
    for (unsigned i = 0; i < 4096; i++) device.true_us.push_back(100 * std::pow(1.12, std::popcount(i ^ 0xa5f)));
    Search blind(4096, {});
    device.run(blind);
    CHECK(device.seconds >= 15);
    CHECK(device.true_us[static_cast<std::size_t>(blind.result().winner)] > 100);
}

TEST_CASE("neighbours differ in one field by one step of the space, both ways") {
    std::vector<Config> configs;
    for (const int unroll : {1, 2, 8})
        for (const int staging : {0, 1}) {
            Config config;
            config.unroll = unroll;
            config.staging = staging;
            configs.push_back(config);
        }
    const Neighbours neighbours(configs);
    CHECK(neighbours.of(0) == std::vector<int>{1, 2});     // unroll 1, staging 0: staging 1; unroll 2
    CHECK(neighbours.of(2) == std::vector<int>{3, 0, 4});  // unroll 2, staging 0: staging 1; unroll 1 and 8
}

TEST_CASE("a wider tile that asks for the same threads an SM is a neighbour, though blocks and their threads differ") {
    std::vector<Config> configs;
    for (const int width : {16, 32}) {
        Config config;
        config.tile_width = width;
        config.lanes = 4;
        config.heads = 2;
        config.min_blocks = 1024 / (width * 4 * 2);
        config.threads = width * 4 * 2;
        configs.push_back(config);
    }
    CHECK(Neighbours(configs).of(0) == std::vector<int>{1});
    configs[0].scatter = configs[1].scatter = scatter_sorted;  // there threads are an axis of their own
    CHECK(Neighbours(configs).of(0).empty());
}

TEST_CASE("in the generator's spaces nearly every config has neighbours, along several fields") {
    Problem problem;
    problem.batch = 2;
    problem.queries = 1000;
    problem.levels = {{32, 32}, {16, 16}};
    for (const Pass pass : {Pass::forward, Pass::backward}) {
        problem.pass = pass;
        const std::vector<Config> configs = space(normalise(problem), {});
        const Neighbours neighbours(configs);
        std::size_t links = 0, alone = 0;
        for (std::size_t i = 0; i < configs.size(); i++) {
            const std::size_t count = neighbours.of(static_cast<int>(i)).size();
            links += count;
            alone += count == 0;
        }
        CAPTURE(configs.size());
        CHECK(alone * 100 <= configs.size());
        CHECK(links >= 5 * configs.size());
    }
}

TEST_CASE("one candidate alone: the default, complete") {
    SimulatedDevice device;
    device.true_us = {100};
    Search search(1, {});
    device.run(search);
    CHECK(search.result().winner == 0);
    CHECK(search.result().complete);
}

TEST_CASE("the same seed and times give the same search") {
    std::vector<int> winners;
    std::vector<int> measurements;
    for (int i = 0; i < 2; i++) {
        SimulatedDevice device;
        device.true_us = landscape(8, 125);
        Search search(120, {});
        device.run(search);
        winners.push_back(search.result().winner);
        measurements.push_back(device.measurements);
    }
    CHECK(winners[0] == winners[1]);
    CHECK(measurements[0] == measurements[1]);
}

TEST_SUITE_END();
