// Every driver call of the tuner's device side fails in turn: a fault or an Error that names the call, nothing leaked,
// the caller's context restored, and the next search works.
#include <doctest/doctest.h>

#include "generator/emit.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// Open, load, judge, time, unload: one candidate's life.
void whole_life(FakeMachine& m, const Problem& problem) {
    GpuTrack track(*m.runtime);
    TrackSettings settings;
    settings.data = {"uniform"};
    track.open(problem, settings);
    const Config config = default_config(problem, m.runtime->silicon(Device::gpu()));
    track.load(0, config, {{}, "FAKE " + emit(problem, config), ""});
    track.verify(0);
    track.measure(0, false);
    track.measure(0, true);
    track.unload(0);
}

// What the driver still holds once the runtime is gone.
int leaked(FakeMachine& m) {
    m.runtime.reset();
    CHECK(m.driver.violations().empty());
    return m.driver.live_modules() + m.driver.live_streams() + m.driver.live_events() + m.driver.live_allocations() +
           m.driver.primary_references(0);
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("every driver call of a candidate's life fails in turn") {
    Problem problem = small_problem(2);
    problem.pass = Pass::backward;
    problem = normalise(problem);
    int faults = 0;
    std::set<std::string> calls;
    // All of the beginning, then a sample: a batch is the same few calls over and over.
    for (int nth = 1;; nth += nth < 500 ? 1 : 41) {
        CAPTURE(nth);
        FakeMachine m;
        m.driver.state().devices[0].silicon.l2_bytes = 1 << 10;  // two copies of the inputs, not sixty-four
        const CUcontext own = m.driver.make_context(0);
        m.driver.set_current(own);
        m.driver.fail_any(nth);
        std::string what;
        try {
            whole_life(m, problem);
        } catch (const std::exception& error) {
            what = error.what();
        }
        const std::string failed = m.driver.failed();
        m.driver.fail_none();
        if (failed.empty()) break;
        CAPTURE(failed);
        ++faults;
        calls.insert(failed);
        if (!what.empty()) CHECK(what.find(failed) != std::string::npos);
        CHECK((failed == "cuCtxPopCurrent" || m.driver.current() == own));
        m.driver.set_current(own);
        whole_life(m, problem);
        // Only what the driver refused to give back stays.
        CHECK(leaked(m) <= (what.empty() ? 1 : 0));
    }
    MESSAGE(faults << " driver calls failed in turn, of " << calls.size() << " kinds");
    CHECK(faults > 200);
    for (const char* call : {"cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemHostAlloc", "cuStreamWaitValue32",
                             "cuModuleLoadDataEx", "cuLaunchKernel", "cuEventElapsedTime", "cuStreamSynchronize"})
        CHECK_MESSAGE(calls.contains(call), call);
}

TEST_SUITE_END();
