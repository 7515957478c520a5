// Tier-up on a fake GPU: failures in the background, ends of runtimes and contexts, and many threads at once.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/runtime/tiered_machine.hpp"

using namespace msda;
using namespace msda::fakes;

TEST_SUITE_BEGIN("tier_up");

TEST_CASE("what fails in the background is one warning, never a failed launch, and is not tried again") {
    for (const bool compiler : {true, false}) {
        Tiered m;
        std::vector<Operator> ops = {numbered(m, 5)};
        m.runtime->settle();
        for (int q = 6; q < 9; ++q) {
            if (compiler)
                m.nvrtc.fail("nvrtcCompileProgram", 1);
            else
                m.driver.fail("cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
            ops.push_back(numbered(m, q));
            m.runtime->settle();
            CHECK(ops.back().tier() == Specialise::family);
        }
        REQUIRE(m.warnings.size() == 1);
        CHECK(m.warnings[0].find("launches stay on that of its family") != std::string::npos);
        CHECK(m.warnings[0].find("queries=6") != std::string::npos);
        const int before = m.compilations();
        for (const Operator& op : ops) op.launch(some_tensors());
        ops.push_back(numbered(m, 9));
        m.runtime->settle();
        CHECK(ops.back().tier() == Specialise::exact);
        CHECK(m.compilations() == before + 1);
        CHECK(m.warnings.size() == 1);
    }
}

TEST_CASE("the first shape's own failure is the caller's, as without tiers") {
    Tiered m;
    m.nvrtc.fail("nvrtcCompileProgram", 1);
    CHECK(error_of([&] { numbered(m, 5); }).first == Code::compile_failed);
    numbered(m, 5).launch(some_tensors());
    CHECK(m.warnings.empty());
}

TEST_CASE("a runtime that ends while a kernel is compiled waits for that one alone; its operators go on") {
    Tiered m(false);
    std::vector<Operator> ops;
    for (int q = 5; q < 15; ++q) ops.push_back(numbered(m, q));
    while (m.background == 0) std::this_thread::yield();
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        m.open();
    });
    m.runtime.reset();
    opener.join();
    CHECK(m.background == 1);
    for (const Operator& op : ops) op.launch(some_tensors());
    CHECK(m.driver.violations().empty());
    ops.clear();
    CHECK(m.driver.live_modules() == 0);
    CHECK(m.driver.primary_references(0) == 0);
}

TEST_CASE("a context that is destroyed takes its kernels along and stops nothing") {
    Tiered m(false);
    const CUcontext own = m.driver.make_context(0);
    m.driver.set_current(own);
    const Operator op = numbered(m, 5);
    while (m.background == 0) std::this_thread::yield();
    const Operator waiting = numbered(m, 6);
    m.driver.destroy_context(own);
    m.open();
    m.runtime->settle();
    CHECK(waiting.tier() == Specialise::family);
    m.driver.set_current(nullptr);
    const Operator primary = numbered(m, 5);
    primary.launch(some_tensors());
    m.runtime->settle();
    CHECK(primary.tier() == Specialise::exact);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("threads launch, prepare and drop while kernels come and go") {
    Tiered m;
    constexpr int threads = 4, shapes = 40;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (int i = 0; i < 400; ++i) {
                const int q = 5 + (i * (t + 3)) % shapes + (t % 2) * 60;
                const Operator op = m.runtime->prepare(small_problem(q));
                for (int k = 0; k < 5; ++k) op.launch(some_tensors());
                if (i % 97 == 0) m.runtime->state().forget_operators();
                if (i % 131 == 0) m.runtime->settle();
            }
        });
    for (std::thread& thread : all) thread.join();
    m.runtime->settle();
    CHECK(m.driver.launches().size() == threads * 400 * 5);
    CHECK(m.driver.violations().empty());
    CHECK(m.warnings.empty());
}

TEST_SUITE_END();
