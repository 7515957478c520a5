// Every driver and compiler call fails in turn: an Error that names the call, no leak, the context restored, the next
// try works.
#include <doctest/doctest.h>

#include <string>

#include "runtime/device_stream.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// The main job: prepare, launch, capture, replay, drop; in a context of the caller's.
void whole_job(FakeMachine& m) {
    Problem backward = small_problem();
    backward.pass = Pass::backward;
    const Operator forward_op = m.runtime->prepare(small_problem());
    const Operator backward_op = m.runtime->prepare(backward);
    const auto context = m.runtime->state().context_for(0);
    const DeviceStream stream(context);
    const DeviceEvent begin(context);
    const DeviceEvent end(context);
    begin.record(stream);
    forward_op.launch(some_tensors(), stream.handle());
    backward_op.launch(some_tensors(), stream.handle());
    end.record(stream);
    end.synchronize();
    begin.synchronize();
    end.microseconds_since(begin);
    const DeviceGraph graph(stream, [&] { forward_op.launch(some_tensors(), stream.handle()); });
    graph.launch(stream);
    stream.synchronize();
}

// Objects of the driver that nobody owns any more.
std::size_t leaked(FakeMachine& m) {
    m.runtime.reset();
    CHECK(m.nvrtc.live_programs() == 0);
    CHECK(m.driver.violations().empty());
    const std::size_t left =
        static_cast<std::size_t>(m.driver.live_streams() + m.driver.live_events() + m.driver.live_allocations()) +
        m.driver.state().graphs.size() + m.driver.state().executables.size();
    m.start();
    return left;
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("every driver call of the main job fails in turn") {
    int faults = 0;
    int without_effect = 0;
    for (int nth = 1;; ++nth) {
        CAPTURE(nth);
        FakeMachine m;
        const CUcontext own = m.driver.make_context(0);
        m.driver.set_current(own);
        m.driver.fail_any(nth);
        const auto [code, message] = error_of([&] { whole_job(m); });
        const std::string failed = m.driver.failed();
        m.driver.fail_none();
        if (failed.empty()) break;
        ++faults;
        CAPTURE(failed);
        // Questions and clean-up may fail without harm; whatever else fails is an Error that names its call.
        if (code == Code{})
            ++without_effect;
        else
            CHECK(message.find(failed) != std::string::npos);
        CHECK((failed == "cuCtxPopCurrent" || m.driver.current() == own));
        m.driver.set_current(own);
        // What the driver refuses to destroy stays; nothing else does.
        CHECK(leaked(m) <= (code == Code{} ? 1u : 0u));
        whole_job(m);
    }
    MESSAGE(faults << " driver calls failed in turn, " << without_effect << " of them without effect");
    CHECK(faults > 60);
    CHECK(without_effect < faults / 3);
}

TEST_CASE("no fault of prepare leaves a module behind") {
    for (int nth = 1;; ++nth) {
        CAPTURE(nth);
        FakeMachine m;
        m.driver.fail_any(nth);
        error_of([&] { m.runtime->prepare(small_problem()); });
        const std::string failed = m.driver.failed();
        m.driver.fail_none();
        if (failed.empty()) break;
        CAPTURE(failed);
        m.runtime->prepare(small_problem()).launch(some_tensors());
        m.runtime.reset();
        CHECK(m.driver.live_modules() == 0);
        CHECK(m.driver.primary_references(0) == 0);
    }
}

TEST_CASE("every compiler call of prepare fails in turn") {
    for (const char* call : {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN",
                             "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
        CAPTURE(call);
        FakeMachine m;
        m.nvrtc.fail(call, 1);
        const auto [code, message] = error_of([&] { m.runtime->prepare(small_problem()); });
        CHECK(code == Code::compile_failed);
        m.runtime->prepare(small_problem()).launch(some_tensors());
        CHECK(leaked(m) == 0);
    }
}

TEST_CASE("a module that the driver does not take says for which code, GPU and driver") {
    FakeMachine m;
    m.driver.fail("cuModuleLoadDataEx", 1, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    const auto [code, message] = error_of([&] { m.runtime->prepare(small_problem()); });
    CHECK(code == Code::unsupported);
    for (const char* part :
         {"cuModuleLoadDataEx", "sm_90", "Fake H200", "CUDA 13.0", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"})
        CHECK(message.find(part) != std::string::npos);
    m.driver.fail("cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(error_of([&] { m.runtime->prepare(small_problem()); }).first == Code::out_of_memory);
}

TEST_SUITE_END();
