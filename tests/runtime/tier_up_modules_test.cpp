// Tier-up on a fake GPU: how much stays loaded, and when a kernel goes, with launches under way and graphs that hold
// it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/current_context.hpp"
#include "runtime/device_stream.hpp"
#include "tests/runtime/tiered_machine.hpp"

using namespace msda;
using namespace msda::fakes;

TEST_SUITE_BEGIN("tier_up");

TEST_CASE("modules stay bounded: kernels that have not run for long make room, those in use keep theirs") {
    Tiered m;
    const DeviceStream stream(m.context());
    constexpr int shapes = 150;
    std::vector<Operator> ops;
    const auto exact = [&] {
        return std::ranges::count_if(ops, [](const Operator& op) { return op.tier() == Specialise::exact; });
    };
    for (int q = 5; q < 5 + shapes; ++q) {
        ops.push_back(numbered(m, q));
        ops.back().launch(some_tensors(), stream.handle());
        m.runtime->settle();
    }
    // All ran lately: whoever came first keeps its place, the others stay with their family.
    CHECK(exact() == Tiers::exact_capacity);
    CHECK(ops.front().tier() == Specialise::exact);
    CHECK(m.driver.calls("cuModuleUnload") == 0);
    // The last shape alone, for long: it gets a place at a look that no event asks for.
    for (std::uint64_t i = 0; i < 2 * TieredOperator::pulse_period; ++i)
        ops.back().launch(some_tensors(), stream.handle());
    m.runtime->settle();
    CHECK(ops.back().tier() == Specialise::exact);
    CHECK(ops.front().tier() == Specialise::family);
    CHECK(exact() <= static_cast<std::ptrdiff_t>(Tiers::exact_capacity));
    // Launches on the stream show what has finished there, the next look unloads it.
    ops.back().launch(some_tensors(), stream.handle());
    const Operator another = numbered(m, 1000);
    m.runtime->settle();
    CHECK(m.driver.calls("cuModuleUnload") >= static_cast<int>(Tiers::outgoing_capacity));
    // One that lost its place runs, and asks for it again.
    ops.front().launch(some_tensors(), stream.handle());
    CHECK(last_launch_was(m, ops.front(), Specialise::family));
    CHECK(m.driver.peak_modules() <= static_cast<int>(Tiers::exact_capacity + Tiers::outgoing_capacity + 1));
    CHECK(m.driver.violations().empty());
}

TEST_CASE("operators that are gone need no kernel, and free the place of theirs") {
    Tiered m(false);
    std::optional<Operator> first = numbered(m, 5);
    std::optional<Operator> dropped = numbered(m, 6);
    while (m.background == 0) std::this_thread::yield();
    dropped.reset();
    m.runtime->state().forget_operators();
    m.open();
    m.runtime->settle();
    CHECK(m.background == 1);
    CHECK(m.driver.live_modules() == 2);
    first.reset();
    m.runtime->state().forget_operators();
    CHECK(m.driver.live_modules() == 1);  // the family's
}

TEST_CASE("a kernel whose launches are under way is unloaded after them, without waiting") {
    Tiered m;
    const DeviceStream held(m.context()), stream(m.context());
    const Operator first = numbered(m, 5);
    m.runtime->settle();
    m.driver.hold(held.handle());
    first.launch(some_tensors(), held.handle());
    std::vector<Operator> ops;
    for (int q = 6; q < 6 + static_cast<int>(Tiers::exact_capacity); ++q) {
        ops.push_back(numbered(m, q));
        m.runtime->settle();
        for (int i = 0; i < 40; ++i) ops.back().launch(some_tensors(), stream.handle());
    }
    m.runtime->settle();
    CHECK(first.tier() == Specialise::family);
    CHECK(ops.back().tier() == Specialise::exact);
    CHECK(m.driver.calls("cuModuleUnload") == 0);
    // Its stream reaches a launch after it; then anything that loads clears it away.
    first.launch(some_tensors(), held.handle());
    m.driver.finish(held.handle());
    m.runtime->settle();
    const Operator another = numbered(m, 1000);
    m.runtime->settle();
    CHECK(m.driver.calls("cuModuleUnload") >= 1);
    CHECK(m.driver.calls("cuStreamSynchronize") + m.driver.calls("cuCtxSynchronize") == 0);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a captured graph replays under eviction pressure, whichever kernel it holds") {
    Tiered m(false);
    const DeviceStream stream(m.context());
    const Operator op = numbered(m, 5);
    const DeviceGraph on_family(stream, [&] { op.launch(some_tensors(), stream.handle()); });
    m.open();
    m.runtime->settle();
    const DeviceGraph on_exact(stream, [&] { op.launch(some_tensors(), stream.handle()); });
    CHECK(last_launch_was(m, op, Specialise::exact));
    std::vector<Operator> ops;
    for (int round = 0; round < 3; ++round)
        for (int q = 6; q < 6 + 100; ++q) {
            ops.push_back(numbered(m, q + 1000 * round));
            m.runtime->settle();
            for (int i = 0; i < 30; ++i) ops.back().launch(some_tensors(), stream.handle());
            on_family.launch(stream);
            on_exact.launch(stream);
        }
    CHECK(m.driver.calls("cuModuleUnload") > 100);
    CHECK(op.tier() == Specialise::exact);  // it cannot be unloaded, so nothing is won by letting it go
    m.runtime->state().forget_operators();
    ops.clear();
    on_family.launch(stream);
    on_exact.launch(stream);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("loading in the background leaves the captures of other threads valid") {
    Tiered m(false);
    const DeviceStream stream(m.context());
    const Operator op = numbered(m, 5);
    const auto driver = m.runtime->state().driver();
    const CurrentContext current(*driver, m.context()->handle());
    driver->check(driver->stream_begin_capture, stream.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    m.open();
    m.runtime->settle();
    CHECK(op.tier() == Specialise::exact);
    CHECK(m.driver.capture_valid(stream.handle()));
    CUgraph graph = nullptr;
    CHECK(driver->stream_end_capture(stream.handle(), &graph) == CUDA_SUCCESS);
    driver->graph_destroy(graph);
}

TEST_SUITE_END();
