// What MSDA_CAPTURE leaves behind: each launched problem once, its tensors as the launch saw them, and never a failed
// launch.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/capture.hpp"
#include "runtime/current_context.hpp"
#include "runtime/tensor_files.hpp"
#include "runtime/verify/device_tensors.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/runtime/same_bytes.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// A machine whose runtimes capture into directory/captured.
struct CapturingMachine : FakeMachine {
    explicit CapturingMachine(bool data) {
        ::setenv("MSDA_CAPTURE", (directory / "captured").c_str(), 1);
        if (data) ::setenv("MSDA_CAPTURE_DATA", "1", 1);
        start();
        ::unsetenv("MSDA_CAPTURE");
        ::unsetenv("MSDA_CAPTURE_DATA");
    }
    std::vector<Captured> captures() {
        std::vector<std::string> complaints;
        std::vector<Captured> all = read_captures(directory / "captured", complaints);
        CHECK(complaints.empty());
        return all;
    }
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("a capture holds each launched problem once, and nothing that was only prepared") {
    CapturingMachine m(false);
    m.runtime->prepare(small_problem(9));
    for (const int queries : {5, 6, 5, 0}) m.runtime->prepare(small_problem(queries)).launch(some_tensors());
    std::vector<std::int64_t> queries;
    for (const Captured& one : m.captures()) {
        queries.push_back(one.problem.queries);
        CHECK_FALSE(one.tensors);
        CHECK(canonical(one.problem) == canonical(normalise(small_problem(one.problem.queries))));
    }
    std::ranges::sort(queries);
    CHECK(queries == std::vector<std::int64_t>{5, 6});
    CHECK(m.warnings.empty());
    CHECK(m.driver.calls("cuMemcpyDtoH") == 0);
    CHECK(m.driver.calls("cuStreamSynchronize") == 0);
}

TEST_CASE("captured tensors are those of the launch, on the GPU and on the host, forward and backward") {
    for (const Pass pass : {Pass::forward, Pass::backward})
        for (const Device device : {Device::gpu(), Device::cpu()}) {
            CAPTURE(static_cast<int>(pass));
            CapturingMachine m(true);
            Problem problem = small_problem();
            problem.pass = pass;
            problem = normalise(problem);
            const Operator op = m.runtime->prepare(problem, device);
            const DevicePlace place = DevicePlace::of(*m.runtime, device);
            DeviceTensors tensors(place);
            tensors.fit(problem, op.workspace_bytes());
            const Inputs given = make_inputs(problem, Locations::model, 7);
            tensors.upload(given);
            op.launch(tensors.addresses());
            const auto captures = m.captures();
            REQUIRE(captures.size() == 1);
            REQUIRE(captures[0].tensors);
            const Inputs read = load_inputs(captures[0].directory, captures[0].problem);
            CHECK(test::same_bytes(read.value, given.value));
            CHECK(test::same_bytes(read.locations, given.locations));
            CHECK(test::same_bytes(read.weights, given.weights));
            CHECK(test::same_bytes(read.grad_output, given.grad_output));
            CHECK(m.warnings.empty());
        }
}

TEST_CASE(
    "inside a graph capture the problem is noted, the capture stays valid, and the next launch gives the tensors") {
    CapturingMachine m(true);
    const Problem problem = normalise(small_problem());
    const Operator op = m.runtime->prepare(problem);
    const DevicePlace place = DevicePlace::of(*m.runtime, Device::gpu());
    DeviceTensors tensors(place);
    tensors.fit(problem, op.workspace_bytes());
    tensors.upload(make_inputs(problem, Locations::uniform));
    const Driver& driver = place.context->driver();
    CUstream stream = nullptr;
    {
        const CurrentContext current(driver, place.context->handle());
        driver.check(driver.stream_create, &stream, 0u);
        driver.check(driver.stream_begin_capture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        op.launch(tensors.addresses(), stream);
        CHECK(m.driver.capture_valid(stream));
        CUgraph graph = nullptr;
        CHECK(driver.stream_end_capture(stream, &graph) == CUDA_SUCCESS);
        driver.graph_destroy(graph);
    }
    REQUIRE(m.captures().size() == 1);
    CHECK_FALSE(m.captures()[0].tensors);
    op.launch(tensors.addresses(), stream);
    REQUIRE(m.captures().size() == 1);
    CHECK(m.captures()[0].tensors);
    driver.stream_destroy(stream);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("what cannot be captured is one warning; the launches go on") {
    CapturingMachine m(true);
    m.driver.fail("cuMemcpyDtoH", 1, CUDA_ERROR_INVALID_VALUE);
    m.runtime->prepare(small_problem(5)).launch(some_tensors());
    m.runtime->prepare(small_problem(6)).launch(some_tensors());  // not device memory: refused by the fake driver
    CHECK(m.driver.launches().size() == 2);
    REQUIRE(m.warnings.size() == 1);
    CHECK(m.warnings[0].find("MSDA_CAPTURE") != std::string::npos);
    CHECK(m.captures().size() == 2);
}

TEST_CASE("a directory that cannot be made is one warning; the launches go on") {
    ::setenv("MSDA_CAPTURE", "/proc/none", 1);
    FakeMachine m;
    for (const int queries : {5, 6}) m.runtime->prepare(small_problem(queries)).launch(some_tensors());
    ::unsetenv("MSDA_CAPTURE");
    CHECK(m.driver.launches().size() == 2);
    CHECK(m.warnings.size() == 1);
}

TEST_CASE("threads that launch at once leave one capture, and no unfinished directory") {
    CapturingMachine m(false);
    const Operator op = m.runtime->prepare(small_problem());
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; i++) threads.emplace_back([&] { op.launch(some_tensors()); });
    }
    CHECK(m.captures().size() == 1);
    CHECK(std::distance(std::filesystem::directory_iterator(m.directory / "captured"), {}) == 1);
}

TEST_CASE("captures that are damaged are named, a directory that is not there is an error") {
    CapturingMachine m(false);
    m.runtime->prepare(small_problem()).launch(some_tensors());
    const std::filesystem::path directory = m.directory / "captured";
    std::filesystem::create_directory(directory / "odd");
    std::ofstream(directory / "odd/problem.txt") << "pass=sideways\n";
    std::vector<std::string> complaints;
    CHECK(read_captures(directory, complaints).size() == 1);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].find("odd: not used") != std::string::npos);
    CHECK(error_of([&] { read_captures(directory / "missing", complaints); }).first == Code::io_failed);
    CHECK(error_of([&] { read_captures(directory / "odd", complaints); }).first == Code::invalid_problem);
}

TEST_CASE("MSDA_CAPTURE_DATA is 0 or 1") {
    ::setenv("MSDA_CAPTURE_DATA", "yes", 1);
    const auto [code, message] = error_of([] { Capture::from_environment({}); });
    ::unsetenv("MSDA_CAPTURE_DATA");
    CHECK(code == Code::invalid_argument);
    CHECK(message == "MSDA_CAPTURE_DATA: expected 0 or 1, got 'yes'");
}

TEST_SUITE_END();
