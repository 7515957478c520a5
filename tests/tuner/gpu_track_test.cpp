// The track on a GPU, on a fake driver: modules come and go, a capture is refused and stays valid, a fault is a fault.
#include <doctest/doctest.h>

#include "generator/emit.hpp"
#include "runtime/current_context.hpp"
#include "runtime/tuner/gpu_track.hpp"
#include "runtime/tuner/gpu_tuning.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/tuning_db/example.hpp"

using namespace msda;
using namespace msda::test;

namespace {

Problem small() {
    Problem p;
    p.queries = 5;
    p.heads = 2;
    p.head_dim = 8;
    p.levels = {{6, 7}, {3, 4}};
    return normalise(p);
}

Binary source_as_code(const Problem& problem, const Config& config) {
    return {{}, "FAKE " + emit(problem, config), ""};
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("what was loaded is unloaded: no module stays behind a search") {
    fakes::FakeMachine machine;
    const Problem problem = small();
    {
        GpuTrack track(*machine.runtime);
        track.open(problem, {});
        CHECK(machine.driver.live_modules() == 1);  // the comparison's stays, the oracle has answered
        const std::vector<Config> configs = space(problem, machine.runtime->silicon(Device::gpu()));
        REQUIRE(configs.size() >= 3);
        for (int candidate = 0; candidate < 3; candidate++)
            track.load(candidate, configs[static_cast<std::size_t>(candidate)],
                       source_as_code(problem, configs[static_cast<std::size_t>(candidate)]));
        CHECK(machine.driver.live_modules() == 4);
        for (int candidate = 0; candidate < 3; candidate++) {
            track.verify(candidate);
            const Sample sample = track.measure(candidate, candidate % 2 == 1);
            CHECK(sample.us.size() == 2);
        }
        for (int candidate = 0; candidate < 3; candidate++) {
            track.unload(candidate);
            CHECK(machine.driver.live_modules() == 3 - candidate);
        }
    }
    CHECK(machine.driver.live_modules() == 0);
    CHECK(machine.driver.violations().empty());
}

TEST_CASE("inside a stream capture tuning is refused and the capture stays valid") {
    fakes::FakeMachine machine;
    machine.runtime->state().context_for(0);
    const Driver& driver = *machine.runtime->state().driver();
    const auto context = machine.runtime->state().context_for(0);
    const CurrentContext current(driver, context->handle());
    CUstream stream = nullptr;
    driver.check(driver.stream_create, &stream, 0u);
    driver.check(driver.stream_begin_capture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    GpuTrack track(*machine.runtime);
    try {
        track.open(small(), {});
        FAIL("opened inside a capture");
    } catch (const Error& error) {
        CHECK(error.code() == Code::not_prepared);
    }
    CHECK(machine.driver.capture_valid(stream));
    CUgraph graph = nullptr;
    CHECK(driver.stream_end_capture(stream, &graph) == CUDA_SUCCESS);
    driver.graph_destroy(graph);
    driver.stream_destroy(stream);
}

TEST_CASE("a kernel that the driver reports as broken is a fault of its candidate") {
    fakes::FakeMachine machine;
    const Problem problem = small();
    GpuTrack track(*machine.runtime);
    track.open(problem, {});
    const Config config = default_config(problem, machine.runtime->silicon(Device::gpu()));
    track.load(0, config, source_as_code(problem, config));
    machine.driver.fail("cuStreamSynchronize", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    try {
        track.verify(0);
        FAIL("verified");
    } catch (const DeviceFault& fault) {
        CHECK(std::string(fault.what()).find("700") != std::string::npos);
    }
    machine.driver.fail("cuEventSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    CHECK_THROWS_AS(track.measure(0, false), DeviceFault);
}

TEST_CASE("candidates are compiled past the disk cache, for the GPU that is there") {
    fakes::FakeMachine machine;
    const Problem problem = small();
    const CompileCandidate compile = gpu_compiler(*machine.runtime, problem, Device::gpu());
    const Config config = default_config(problem, machine.runtime->silicon(Device::gpu()));
    const Binary binary = compile(config);
    CHECK(binary.target.capability == 90);
    CHECK_FALSE(binary.bytes.empty());
    CHECK(machine.runtime->state().cache.usage().entries == 0);
}

TEST_CASE("a record is labelled with its surroundings") {
    fakes::FakeMachine machine;
    Record record;
    label(record, *machine.runtime, Device::gpu());
    CHECK(record.gpu == "Fake H200");
    CHECK(record.driver == "13.0");
    CHECK(record.nvrtc == "13.0");
    CHECK(record.generator == version());
    CHECK(record.date.size() == 20);
    CHECK(record.date.back() == 'Z');
}

TEST_SUITE_END();
