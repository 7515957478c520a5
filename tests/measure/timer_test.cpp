// Timing on a fake driver that counts (one unit of work is one millisecond of its event clock) and on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "runtime/measure/clocks.hpp"
#include "runtime/measure/timer.hpp"
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

// A prepared problem with its rotating tensors on the fake GPU.
struct OnGpu {
    fakes::FakeMachine machine;
    Problem problem = small();
    DevicePlace place = DevicePlace::of(*machine.runtime, Device::gpu());
    Operator op = machine.runtime->prepare(problem);
    RotatingTensors tensors{place, problem, make_inputs(problem, Locations::uniform), op.workspace_bytes()};
    Timer timer{place};

    // Addresses of the output in the launches since `first`.
    std::set<std::uint64_t> outputs(std::size_t first) const {
        std::set<std::uint64_t> addresses;
        const auto launches = machine.driver.launches();
        for (std::size_t i = first; i < launches.size(); i++)
            for (const std::uint64_t argument : launches[i].arguments)
                if (argument != 0) addresses.insert(argument);  // a tensor the problem does not use is null
        return addresses;
    }
};

}  // namespace

TEST_SUITE_BEGIN("measure");

TEST_CASE("copies add up to three times L2, and not to more than a quarter of the memory") {
    OnGpu gpu;
    CHECK(gpu.tensors.copies() == 64);  // a small problem: the most there are
    Problem large = decoder(22223);
    const RotatingTensors tensors(gpu.place, large, make_inputs(large, Locations::uniform), 0);
    const auto l2 = static_cast<std::size_t>(gpu.place.context->device().silicon.l2_bytes);
    CHECK(tensors.copies() * tensor_bytes(large) >= 3 * l2);
    CHECK((tensors.copies() - 1) * tensor_bytes(large) <= 3 * l2);
}

TEST_CASE("a cold batch rotates through the copies, a warm one stays on one") {
    OnGpu gpu;
    std::size_t before = gpu.machine.driver.launches().size();
    gpu.timer.batch(gpu.op, gpu.tensors, 64, false);
    const std::size_t cold = gpu.outputs(before).size();
    before = gpu.machine.driver.launches().size();
    gpu.timer.batch(gpu.op, gpu.tensors, 64, true);
    const std::size_t warm = gpu.outputs(before).size();
    CHECK(gpu.machine.driver.launches().size() - before == 64);
    CHECK(cold == 64 * warm);
}

TEST_CASE("the whole batch is queued behind a wait and leaves no capture") {
    OnGpu gpu;
    const int waits =
        gpu.machine.driver.calls("cuStreamWaitValue32_v2") + gpu.machine.driver.calls("cuStreamWaitValue32");
    const double us = gpu.timer.batch(gpu.op, gpu.tensors, 10, false);
    CHECK(gpu.machine.driver.calls("cuStreamWaitValue32_v2") + gpu.machine.driver.calls("cuStreamWaitValue32") ==
          waits + 1);
    CHECK(us > 0);
    for (const auto& launch : gpu.machine.driver.launches()) CHECK_FALSE(launch.captured);
    CHECK(gpu.machine.driver.violations().empty());
}

TEST_CASE("a batch is as long as asked and no longer than a stream's queue") {
    OnGpu gpu;
    CHECK(gpu.timer.launches_for(gpu.op, gpu.tensors, 1e9) <= 500);
    CHECK(gpu.timer.launches_for(gpu.op, gpu.tensors, 0) == 1);
}

TEST_CASE("a steady operator needs the fewest batches; median and MAD are of the batches") {
    OnGpu gpu;
    TimingSettings settings;
    settings.fewest_batches = 7;
    const Timing timing = gpu.timer.time(gpu.op, gpu.tensors, settings);
    CHECK(timing.batches.size() == 7);
    CHECK(timing.mad_us == 0);
    CHECK(timing.median_us == timing.batches[0]);
}

TEST_CASE("graph timing captures once and replays") {
    OnGpu gpu;
    TimingSettings settings;
    settings.submission = Submission::graph;
    const auto captures = [&] {
        return gpu.machine.driver.calls("cuStreamBeginCapture_v2") + gpu.machine.driver.calls("cuStreamBeginCapture");
    };
    const int before = captures();
    const Timing timing = gpu.timer.time(gpu.op, gpu.tensors, settings);
    CHECK(captures() == before + 1);
    CHECK(timing.launches >= static_cast<int>(gpu.tensors.copies()));
    CHECK(gpu.machine.driver.calls("cuGraphLaunch") == static_cast<int>(timing.batches.size()) + 1);
}

TEST_CASE("a launch that fails releases the stream and is reported") {
    OnGpu gpu;
    gpu.machine.driver.fail("cuLaunchKernel", 3);
    CHECK_THROWS_AS(gpu.timer.batch(gpu.op, gpu.tensors, 10, false), Error);
    CHECK(gpu.timer.batch(gpu.op, gpu.tensors, 10, false) > 0);
}

TEST_CASE("host devices are timed by the clock") {
    Runtime runtime;
    const Problem problem = small();
    const DevicePlace place = DevicePlace::of(runtime, Device::cpu());
    const Operator op = runtime.prepare(problem, Device::cpu());
    RotatingTensors tensors(place, problem, make_inputs(problem, Locations::uniform), op.workspace_bytes());
    CHECK(tensors.copies() == 1);
    Timer timer(place);
    TimingSettings settings;
    settings.most_batches = 6;
    const Timing timing = timer.time(op, tensors, settings);
    CHECK(timing.median_us > 0);
    CHECK(timing.batches.size() >= 5);
}

// An NVML in which everything succeeds and every clock runs at 1500 MHz.
struct FakeNvml {
    static int init() { return 0; }
    static int by_address(const char*, void** device) {
        static int one;
        *device = &one;
        return 0;
    }
    static int clock_info(void*, int, unsigned* mhz) {
        *mhz = 1500;
        return 0;
    }
    static void* symbol(void*, const char* name) {
        if (std::string_view(name) == "nvmlInit_v2") return reinterpret_cast<void*>(&init);
        if (std::string_view(name) == "nvmlDeviceGetClockInfo") return reinterpret_cast<void*>(&clock_info);
        return reinterpret_cast<void*>(&by_address);
    }
};

TEST_CASE("a driver that does not say where its device is leaves the clocks unknown, and the process alive") {
    fakes::FakeMachine machine;
    LibraryLoader loader = LibraryLoader::real();
    loader.open = [](const std::string&, bool, std::string&) { return std::make_shared<int>(); };
    loader.symbol = FakeNvml::symbol;
    Driver driver = *machine.driver.started();
    driver.device_get_attribute.function = [](int* answer, CUdevice_attribute, CUdevice) {
        *answer = 1;
        return CUDA_SUCCESS;
    };
    CHECK(Clocks(loader, driver, 0).sm_mhz() == 1500);
    driver.device_get_attribute.function = [](int*, CUdevice_attribute, CUdevice) { return CUDA_ERROR_INVALID_VALUE; };
    CHECK(Clocks(loader, driver, 0).sm_mhz() == 0);
}

TEST_CASE("without NVML all clocks are unknown") {
    fakes::FakeMachine machine;
    LibraryLoader loader = LibraryLoader::real();
    loader.open = [](const std::string&, bool, std::string&) { return std::shared_ptr<void>(); };
    const Clocks clocks(loader, *machine.driver.started(), 0);
    CHECK(clocks.sm_mhz() == 0);
    CHECK(clocks.memory_mhz() == 0);
}

TEST_SUITE_END();
