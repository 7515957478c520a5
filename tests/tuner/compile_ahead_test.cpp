// Candidates compiled ahead: each once, failures included, nothing begun once the search has taken over.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>

#include "msda/error.hpp"
#include "runtime/tuner/compile_ahead.hpp"

using namespace msda;

namespace {

std::vector<Config> some_configs(int count) {
    std::vector<Config> configs(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++) configs[static_cast<std::size_t>(i)].unroll = i;
    return configs;
}

Binary code_for(const Config& config) { return {{}, canonical(config), ""}; }

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("what was compiled ahead is not compiled again") {
    std::atomic<int> compiled = 0;
    const std::vector<Config> configs = some_configs(20);
    CompileAhead ahead(
        [&](const Config& config) {
            compiled++;
            return code_for(config);
        },
        configs, 3);
    while (compiled < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const Config& config : configs) CHECK(ahead(config).bytes == canonical(config));
    CHECK(compiled == 20);
    Config other;
    other.unroll = 99;
    CHECK(ahead(other).bytes == canonical(other));
    CHECK(compiled == 21);
}

TEST_CASE("what is under way is awaited, what is not begun is compiled by who asks, by many threads") {
    std::atomic<int> compiled = 0;
    const std::vector<Config> configs = some_configs(40);
    CompileAhead ahead(
        [&](const Config& config) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            compiled++;
            return code_for(config);
        },
        configs, 2);
    std::atomic<std::size_t> next = 0;
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([&] {
                for (std::size_t at = next++; at < configs.size(); at = next++)
                    right += ahead(configs[at]).bytes == canonical(configs[at]);
            });
    }
    CHECK(right == 40);
    CHECK(compiled == 40);
}

TEST_CASE("a failure is handed out where its config is asked for, and an unused compiler ends at once") {
    CompileAhead ahead([](const Config&) -> Binary { throw Error(Code::compile_failed, "no such register"); },
                       some_configs(1), 1);
    CHECK_THROWS_AS(ahead(some_configs(1)[0]), Error);
    std::atomic<int> compiled = 0;
    {
        const CompileAhead unused(
            [&](const Config& config) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                compiled++;
                return code_for(config);
            },
            some_configs(1000), 2);
    }
    CHECK(compiled < 10);
}

TEST_SUITE_END();
