// Every driver call of the tuner's device side fails in turn: a fault or an Error that names the call, nothing leaked,
// the caller's context restored, and the next search works.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "generator/emit.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/matrix.hpp"
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

// Two copies of the inputs, not sixty-four, and a context of the caller's, which is returned.
CUcontext prepare(FakeMachine& m) {
    m.driver.state().devices[0].silicon.l2_bytes = 1 << 10;
    const CUcontext own = m.driver.make_context(0);
    m.driver.set_current(own);
    return own;
}

// What the driver still holds once the runtime is gone.
int leaked(FakeMachine& m) {
    m.runtime.reset();
    CHECK(m.driver.violations().empty());
    return m.driver.live_modules() + m.driver.live_streams() + m.driver.live_events() + m.driver.live_allocations() +
           m.driver.primary_references(0);
}

// A life in which a driver call fails as `arm` says, then a sound one. Returns the function that failed, empty when
// none did.
std::string life_with_fault(const Problem& problem, const std::function<void(FakeDriver&)>& arm) {
    FakeMachine m;
    const CUcontext own = prepare(m);
    arm(m.driver);
    std::string what;
    try {
        whole_life(m, problem);
    } catch (const std::exception& error) {
        what = error.what();
    }
    const std::string failed = m.driver.failed();
    m.driver.fail_none();
    if (failed.empty()) return failed;
    CAPTURE(failed);
    if (!what.empty()) CHECK(what.find(failed) != std::string::npos);
    CHECK((failed == "cuCtxPopCurrent" || m.driver.current() == own));
    m.driver.set_current(own);
    whole_life(m, problem);
    // Only what the driver refused to give back stays.
    CHECK(leaked(m) <= (what.empty() ? 1 : 0));
    return failed;
}

// The driver's functions and how often a sound life calls each.
std::map<std::string, int> calls_of_a_life(const Problem& problem) {
    FakeMachine m;
    prepare(m);
    m.driver.forget_calls();
    whole_life(m, problem);
    std::map<std::string, int> calls;
    for (const std::string& function : m.driver.functions_called()) calls[function] = m.driver.calls(function);
    return calls;
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("every driver call of a candidate's life fails in turn") {
    Problem problem = small_problem(2);
    problem.pass = Pass::backward;
    problem = normalise(problem);
    const std::map<std::string, int> calls = calls_of_a_life(problem);
    int faults = 0;
    std::set<std::string> failed;
    if (test::whole_matrices()) {
        // All of the beginning, then a sample: a batch is the same few calls over and over.
        for (int nth = 1;; nth += nth < 500 ? 1 : 41) {
            CAPTURE(nth);
            const std::string function = life_with_fault(problem, [&](FakeDriver& driver) { driver.fail_any(nth); });
            if (function.empty()) break;
            failed.insert(function);
            ++faults;
        }
        CHECK(faults > 200);
    } else {
        for (const auto& [function, count] : calls)
            for (const int nth : std::set<int>{1, count}) {
                CAPTURE(nth);
                failed.insert(life_with_fault(problem, [&](FakeDriver& driver) { driver.fail(function, nth); }));
                ++faults;
            }
    }
    MESSAGE(faults << " driver calls failed in turn, of " << failed.size() << " kinds");
    for (const auto& [function, count] : calls) CHECK_MESSAGE(failed.contains(function), function);
    for (const char* function : {"cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemHostAlloc", "cuStreamWaitValue32",
                                 "cuModuleLoadDataEx", "cuLaunchKernel", "cuEventElapsedTime", "cuStreamSynchronize"})
        CHECK_MESSAGE(failed.contains(function), function);
}

TEST_SUITE_END();
