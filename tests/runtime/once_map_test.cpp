#include "runtime/once_map.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using msda::OnceMap;

TEST_SUITE_BEGIN("runtime");

TEST_CASE("many threads that ask at once share one making") {
    OnceMap<std::string, const int> map(8);
    std::atomic<int> made{0};
    std::atomic<int> arrived{0};
    std::vector<std::thread> threads;
    std::vector<int> results(16);
    for (std::size_t i = 0; i < results.size(); ++i)
        threads.emplace_back([&, i] {
            ++arrived;
            results[i] = *map.get("key", [&] {
                while (arrived < 16) std::this_thread::yield();
                return std::make_shared<const int>(++made);
            });
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(made == 1);
    CHECK(results == std::vector<int>(16, 1));
}

TEST_CASE("a failure reaches all who wait and is tried again by the next") {
    OnceMap<std::string, const int> map(8);
    std::atomic<int> tries{0};
    std::atomic<int> failures{0};
    std::atomic<int> arrived{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            ++arrived;
            try {
                map.get("key", [&]() -> std::shared_ptr<const int> {
                    while (arrived < 8) std::this_thread::yield();
                    ++tries;
                    throw std::runtime_error("no");
                });
            } catch (const std::runtime_error&) {
                ++failures;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 8);
    CHECK(tries >= 1);
    CHECK(map.find("key") == nullptr);
    CHECK(*map.get("key", [] { return std::make_shared<const int>(7); }) == 7);
}

TEST_CASE("other keys are served while one is being made") {
    OnceMap<int, const int> map(8);
    const auto outer = map.get(1, [&] {
        const auto inner = map.get(2, [] { return std::make_shared<const int>(2); });
        return std::make_shared<const int>(10 * *inner);
    });
    CHECK(*outer == 20);
}

TEST_CASE("the least recently used goes first, and its holders keep it") {
    OnceMap<int, const int> map(2);
    const auto make = [](int value) { return [value] { return std::make_shared<const int>(value); }; };
    const auto first = map.get(1, make(1));
    map.get(2, make(2));
    CHECK(map.find(1) == first);
    map.get(3, make(3));
    CHECK(map.size() == 2);
    CHECK(map.find(2) == nullptr);
    CHECK(map.find(1) == first);
    map.erase_if([](int key) { return key == 1; });
    CHECK(map.find(1) == nullptr);
    CHECK(*first == 1);
}

TEST_SUITE_END();
