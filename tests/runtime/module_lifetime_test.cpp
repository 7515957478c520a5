// Modules are unloaded after their last launch, never under a graph, and captures survive whatever happens beside them.
#include <doctest/doctest.h>

#include <memory>
#include <optional>

#include "runtime/current_context.hpp"
#include "runtime/device_stream.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// A machine whose runtime keeps no operator for itself: what the caller drops is gone.
struct Lifetime : FakeMachine {
    Lifetime() : context(runtime->state().context_for(0)), stream(std::make_unique<DeviceStream>(context)) {}

    void forget() { runtime->state().forget_operators(); }
    int unloads() const { return driver.calls("cuModuleUnload"); }
    const Driver& calls() const { return context->driver(); }

    std::shared_ptr<DeviceContext> context;
    std::unique_ptr<DeviceStream> stream;
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("a module that never ran is unloaded when its operator goes") {
    Lifetime m;
    m.runtime->prepare(small_problem());
    CHECK(m.driver.live_modules() == 1);
    m.forget();
    CHECK(m.driver.live_modules() == 0);
}

TEST_CASE("a module is unloaded only after its last launch has finished, without waiting for it") {
    Lifetime m;
    const CUstream stream = m.stream->handle();
    std::optional<Operator> first = m.runtime->prepare(small_problem(5));
    const Operator second = m.runtime->prepare(small_problem(6));
    m.driver.hold(stream);
    first->launch(some_tensors(), stream);
    first.reset();
    m.runtime->state().forget_operators();
    CHECK(m.unloads() == 0);
    // The next launch on that stream marks the point after which it is done.
    second.launch(some_tensors(), stream);
    m.runtime->prepare(small_problem(7));
    CHECK(m.unloads() == 0);
    m.driver.finish(stream);
    m.runtime->prepare(small_problem(8));
    CHECK(m.unloads() == 1);
    CHECK(m.driver.calls("cuCtxSynchronize") == 0);
    CHECK(m.driver.calls("cuStreamSynchronize") == 0);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("every stream that ran a module must have been marked") {
    Lifetime m;
    const DeviceStream other(m.context);
    std::optional<Operator> first = m.runtime->prepare(small_problem(5));
    const Operator second = m.runtime->prepare(small_problem(6));
    first->launch(some_tensors(), m.stream->handle());
    first->launch(some_tensors(), other.handle());
    first.reset();
    m.forget();
    second.launch(some_tensors(), m.stream->handle());
    m.runtime->prepare(small_problem(7));
    CHECK(m.unloads() == 0);
    second.launch(some_tensors(), other.handle());
    m.runtime->prepare(small_problem(8));
    CHECK(m.unloads() == 1);
}

TEST_CASE("a stream that was destroyed is never asked") {
    Lifetime m;
    std::optional<Operator> op = m.runtime->prepare(small_problem());
    op->launch(some_tensors(), m.stream->handle());
    m.stream.reset();
    op.reset();
    m.forget();
    m.runtime->prepare(small_problem(6)).launch(some_tensors());
    CHECK(m.driver.violations().empty());
    m.context.reset();
    m.runtime.reset();
    CHECK(m.driver.live_modules() == 0);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("lesson 47: loads = unloads once runtime and operators are gone, in either order") {
    for (const bool runtime_first : {true, false}) {
        Lifetime m;
        std::optional<Operator> op = m.runtime->prepare(small_problem());
        for (int q = 6; q < 20; ++q) m.runtime->prepare(small_problem(q)).launch(some_tensors(), m.stream->handle());
        op->launch(some_tensors());
        m.stream.reset();
        m.context.reset();
        if (runtime_first) m.runtime.reset();
        op.reset();
        m.runtime.reset();
        CHECK(m.driver.live_modules() == 0);
        CHECK(m.driver.calls("cuModuleLoadDataEx") == m.unloads());
        CHECK(m.driver.live_events() == 0);
        CHECK(m.driver.primary_references(0) == 0);
        CHECK(m.driver.violations().empty());
    }
}

TEST_CASE("a module launched under capture is never unloaded, and its graph can be launched at any time") {
    Lifetime m;
    std::optional<Operator> op = m.runtime->prepare(small_problem());
    const DeviceGraph graph(*m.stream, [&] { op->launch(some_tensors(), m.stream->handle()); });
    CHECK(m.driver.launches().at(0).captured);
    op.reset();
    m.forget();
    for (int q = 6; q < 30; ++q) m.runtime->prepare(small_problem(q));
    graph.launch(*m.stream);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a miss inside a capture is refused and leaves the capture valid; a hit is served") {
    Lifetime m;
    const Operator op = m.runtime->prepare(small_problem(5));
    const CurrentContext current(m.calls(), m.context->handle());
    CUstream blocking = nullptr;
    m.calls().check(m.calls().stream_create, &blocking, 0u);
    for (const CUstream stream : {blocking, m.stream->handle()}) {
        m.calls().check(m.calls().stream_begin_capture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        const auto [code, message] =
            error_of([&] { m.runtime->prepare(small_problem(6), Device::gpu(), static_cast<Stream>(stream)); });
        CHECK(code == Code::not_prepared);
        CHECK(message.find("call prepare() before the capture") != std::string::npos);
        CHECK(m.driver.capture_valid(stream));
        m.runtime->prepare(small_problem(5), Device::gpu(), static_cast<Stream>(stream)).launch(some_tensors(), stream);
        CHECK(m.driver.capture_valid(stream));
        CUgraph graph = nullptr;
        CHECK(m.calls().stream_end_capture(stream, &graph) == CUDA_SUCCESS);
        m.calls().graph_destroy(graph);
    }
    // Without the stream: a blocking stream's capture shows on the legacy stream.
    m.calls().check(m.calls().stream_begin_capture, blocking, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK(error_of([&] { m.runtime->prepare(small_problem(6)); }).first == Code::not_prepared);
    CHECK(m.driver.capture_valid(blocking));
}

TEST_CASE("preparing beside a capture of another thread, loading and unloading, leaves that capture valid") {
    Lifetime m;
    m.runtime->prepare(small_problem(4));
    const CurrentContext current(m.calls(), m.context->handle());
    m.calls().check(m.calls().stream_begin_capture, m.stream->handle(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    std::thread other([&] {
        m.runtime->prepare(small_problem(9)).launch(some_tensors(), nullptr);
        m.forget();
        m.runtime->prepare(small_problem(10));
    });
    other.join();
    CHECK(m.driver.capture_valid(m.stream->handle()));
    CUgraph graph = nullptr;
    CHECK(m.calls().stream_end_capture(m.stream->handle(), &graph) == CUDA_SUCCESS);
    m.calls().graph_destroy(graph);
}

TEST_CASE("a graph whose recording throws ends its capture and leaves nothing") {
    Lifetime m;
    CHECK_THROWS_AS(DeviceGraph(*m.stream, [] { throw Error(Code::invalid_argument, "no"); }), Error);
    CHECK(m.driver.state().graphs.empty());
    CHECK(m.driver.state().executables.empty());
    m.stream->synchronize();
}

TEST_SUITE_END();
