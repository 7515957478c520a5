// The background thread: answers every ring, ends when told, and lets processes exit and fork.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/tier/worker.hpp"

using namespace msda;

TEST_SUITE_BEGIN("tier_up");

TEST_CASE("settle waits for all that was rung for before, also before the thread began") {
    const auto bell = std::make_shared<Bell>();
    std::atomic<int> wanted{0}, done{0};
    Worker worker(bell, [&] { done = wanted.load(); });
    wanted = 1;
    bell->ring();
    worker.settle();  // not started: nothing to wait for
    CHECK(done == 0);
    worker.start();
    worker.settle();
    CHECK(done == 1);
    for (int i = 2; i < 2000; ++i) {
        wanted = i;
        bell->ring();
        worker.settle();
        CHECK(done >= i);
    }
}

TEST_CASE("no ring is lost, whoever rings") {
    const auto bell = std::make_shared<Bell>();
    std::atomic<int> work{0};
    Worker worker(bell, [&] { work = 0; });
    worker.start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                ++work;
                bell->ring();
                if (i % 50 == 0) worker.settle();
            }
        });
    for (std::thread& thread : threads) thread.join();
    worker.settle();
    CHECK(work == 0);
}

TEST_CASE("stop waits for the round in progress, frees who waits, and nothing runs after it") {
    const auto bell = std::make_shared<Bell>();
    std::atomic<int> begun{0}, ended{0};
    Worker worker(bell, [&] {
        ++begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++ended;
    });
    worker.start();
    bell->ring();
    while (begun == 0) std::this_thread::yield();
    std::thread waiting([&] { worker.settle(); });
    worker.stop();
    waiting.join();
    const int rounds = ended;
    CHECK(begun == rounds);
    bell->ring();
    worker.start();
    worker.settle();
    worker.stop();
    CHECK(begun == rounds);
}

TEST_SUITE_END();
