// Every index once, by any number of threads; exceptions reach the caller.
#include "runtime/parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

using namespace msda;

TEST_SUITE("runtime") {
    TEST_CASE("parallel: each index is visited exactly once and workers stay in range") {
        for (const int threads : {1, 2, 5, 64})
            for (const std::int64_t count : {0, 1, 7, 1000})
                for (const std::int64_t grain : {0, 1, 3, 5000}) {
                    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
                    std::atomic<bool> in_range{true};
                    parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end, int worker) {
                        if (worker < 0 || worker >= threads || end - begin > std::max<std::int64_t>(grain, 1))
                            in_range = false;
                        for (std::int64_t i = begin; i < end; i++) visits[static_cast<std::size_t>(i)]++;
                    });
                    CHECK(in_range);
                    for (const auto& visit : visits) REQUIRE(visit == 1);
                }
    }

    TEST_CASE("parallel: an exception of a worker is the caller's, after all have stopped") {
        std::atomic<int> running{0};
        const auto body = [&](std::int64_t begin, std::int64_t, int) {
            running++;
            const bool fails = begin == 37;
            running--;
            if (fails) throw std::runtime_error("37");
        };
        CHECK_THROWS_WITH_AS(parallel_for(4, 100, 1, body), "37", std::runtime_error);
        CHECK(running == 0);
    }

    TEST_CASE("parallel: 0 threads means all of them") {
        CHECK(thread_count(0) >= 1);
        CHECK(thread_count(-3) >= 1);
        CHECK(thread_count(7) == 7);
    }
}
