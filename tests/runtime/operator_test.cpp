#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "generator/plan.hpp"
#include "runtime/addresses.hpp"
#include "runtime/current_context.hpp"
#include "runtime/module.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

Problem backward_problem(Type value = Type::f16) {
    Problem problem = small_problem();
    problem.pass = Pass::backward;
    problem.value = problem.output = value;
    problem.accumulate = Accumulate::f32;
    return problem;
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("a launch passes the plan: kernel, grid, threads, addresses in order, on the caller's stream") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    CHECK(op.config_origin() == "heuristic");
    CHECK(op.source_digest().size() == 32);
    m.driver.set_current(m.driver.make_context(0));
    const CUcontext before = m.driver.current();
    const Tensors tensors = some_tensors();
    op.launch(tensors);
    const Plan steps = plan(op.problem(), op.config());
    const auto launches = m.driver.launches();
    REQUIRE(launches.size() == steps.steps.size());
    const Step& step = steps.steps[0];
    CHECK(launches[0].kernel == step.kernel);
    CHECK(launches[0].grid == step.grid);
    CHECK(launches[0].threads == step.threads);
    CHECK(launches[0].shared_bytes == step.shared_bytes);
    const Addresses addresses = addresses_of(tensors);
    REQUIRE(launches[0].arguments.size() == step.arguments.size());
    for (std::size_t i = 0; i < step.arguments.size(); ++i)
        CHECK(launches[0].arguments[i] ==
              reinterpret_cast<std::uint64_t>(addresses[static_cast<std::size_t>(step.arguments[i].buffer)]));
    CHECK(m.driver.current() == before);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a family launch passes the shape by value, zero steps become memsets, workspace parts get their offsets") {
    FakeMachine m;
    Problem problem = backward_problem();
    problem.specialise = Specialise::family;
    const Operator op = m.runtime->prepare(problem);
    const Plan steps = plan(op.problem(), op.config());
    CHECK(op.workspace_bytes() == steps.workspace_bytes);
    const Tensors tensors = some_tensors();
    op.launch(tensors);
    const auto launches = m.driver.launches();
    REQUIRE(launches.size() == steps.steps.size());
    std::uint64_t shape = 0;
    std::memcpy(&shape, steps.shape.data(), sizeof shape);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const Step& step = steps.steps[i];
        CHECK(launches[i].kernel == step.kernel);
        if (step.kind == Step::Kind::zero) {
            CHECK(launches[i].bytes == step.bytes);
            continue;
        }
        REQUIRE(launches[i].arguments.size() == step.arguments.size());
        for (std::size_t a = 0; a < step.arguments.size(); ++a) {
            const Slot& slot = step.arguments[a];
            if (slot.buffer == Buffer::shape) CHECK(launches[i].arguments[a] == shape);
            if (slot.buffer == Buffer::workspace)
                CHECK(launches[i].arguments[a] == reinterpret_cast<std::uint64_t>(tensors.workspace) + slot.offset);
        }
    }
}

TEST_CASE("null and misaligned addresses are refused by name, with expected and got, before anything is launched") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    m.driver.forget_calls();
    const auto refusal = [&](auto change) {
        Tensors tensors = some_tensors();
        change(tensors);
        const auto [code, message] = error_of([&] { op.launch(tensors); });
        CHECK(code == Code::invalid_argument);
        return message;
    };
    CHECK(refusal([](Tensors& t) { t.value = nullptr; }) == "value: expected an address, got null");
    CHECK(refusal([](Tensors& t) { t.output = nullptr; }).starts_with("output:"));
    const std::string message = refusal([](Tensors& t) { t.locations = static_cast<const char*>(t.locations) + 4; });
    CHECK(message.starts_with("locations: expected an address aligned to 16 bytes, got 0x"));
    CHECK(message.find("(aligned to 4)") != std::string::npos);
    CHECK(m.driver.launches().empty());
    // What the problem does not use may be null.
    Tensors tensors = some_tensors();
    tensors.references = tensors.scales = nullptr;
    tensors.grad_value = tensors.workspace = nullptr;
    op.launch(tensors);
    CHECK(m.driver.launches().size() == 1);
    // Less alignment, when the problem says so, but never less than an element's.
    Problem packed = small_problem();
    packed.alignment = 1;
    const Operator any = m.runtime->prepare(packed);
    tensors.locations = static_cast<const char*>(tensors.locations) + 4;
    any.launch(tensors);
    tensors.locations = static_cast<const char*>(tensors.locations) + 1;
    CHECK(error_of([&] { any.launch(tensors); }).second.find("aligned to 4 bytes") != std::string::npos);
}

TEST_CASE("lesson 5: an empty problem prepares without a compiler and launches nothing, with null tensors") {
    FakeMachine m;
    for (const auto& [batch, queries] : {std::pair<std::int64_t, std::int64_t>{0, 21}, {2, 0}, {0, 0}}) {
        Problem problem = small_problem(queries);
        problem.batch = batch;
        m.runtime->prepare(problem).launch(Tensors{});
    }
    CHECK(m.driver.launches().empty());
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == 0);
    // The gradient of a value that exists is zero, and written.
    Problem problem = backward_problem();
    problem.queries = 0;
    const Operator op = m.runtime->prepare(problem);
    Tensors tensors;
    CHECK(error_of([&] { op.launch(tensors); }).second.starts_with("grad_value:"));
    tensors.grad_value = some_tensors().grad_value;
    op.launch(tensors);
    REQUIRE(m.driver.launches().size() == 1);
    CHECK(m.driver.launches()[0].bytes == 30 * 2 * 32 * 2);
}

TEST_CASE("lesson 7: a launch that fails is an error with the driver's reason, and the context is restored") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    const CUcontext own = m.driver.make_context(0);
    m.driver.set_current(own);
    m.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_FAILED);
    const auto [code, message] = error_of([&] { op.launch(some_tensors()); });
    CHECK(code == Code::driver_failed);
    CHECK(message.find("cuLaunchKernel failed: CUDA_ERROR_LAUNCH_FAILED") != std::string::npos);
    CHECK(message.find("kernel msda") != std::string::npos);
    CHECK(m.driver.current() == own);
    op.launch(some_tensors());
    CHECK(m.driver.current() == own);
}

TEST_CASE("lessons 8, 22: an operator follows its own device and context, whatever is current") {
    FakeMachine m(2);
    const Operator first = m.runtime->prepare(small_problem(), Device::gpu(0));
    const Operator second = m.runtime->prepare(small_problem(), Device::gpu(1));
    CHECK(m.driver.primary_references(0) == 1);
    CHECK(m.driver.primary_references(1) == 1);
    CHECK(m.driver.current() == nullptr);
    second.launch(some_tensors());
    first.launch(some_tensors());
    const auto launches = m.driver.launches();
    REQUIRE(launches.size() == 2);
    CHECK(launches[0].context != launches[1].context);
    // One cubin serves both devices.
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == 1);
    // The caller's own context of that device is used, the primary one left alone.
    const CUcontext own = m.driver.make_context(1);
    m.driver.set_current(own);
    const Operator third = m.runtime->prepare(small_problem(), Device::gpu(1));
    third.launch(some_tensors());
    CHECK(m.driver.launches().back().context == own);
    CHECK(m.driver.current() == own);
    // A context of another device is not.
    const Operator fourth = m.runtime->prepare(small_problem(), Device::gpu(0));
    fourth.launch(some_tensors());
    CHECK(m.driver.launches().back().context == launches[1].context);
    CHECK(error_of([&] { m.runtime->prepare(small_problem(), Device::gpu(2)); }).second ==
          "expected a GPU from 0 to 1, got 2");
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a destroyed context whose handle comes back is not taken for the old one") {
    FakeMachine m;
    const CUcontext own = m.driver.make_context(0);
    m.driver.set_current(own);
    m.runtime->prepare(small_problem());
    m.driver.destroy_context(own);
    m.driver.state().contexts[own] = {0, 999};
    m.driver.set_current(own);
    m.runtime->prepare(small_problem()).launch(some_tensors());
    CHECK(m.driver.calls("cuModuleLoadDataEx") == 2);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("lesson 9: only the caller's stream, no synchronisation, no allocation, few driver calls") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    m.driver.set_current(m.driver.state().primary[0]);
    CUstream stream = nullptr;
    const auto driver = m.runtime->state().driver();
    driver->check(driver->stream_create, &stream, 1u);
    op.launch(some_tensors(), stream);
    m.driver.forget_calls();
    for (int i = 0; i < 10; ++i) op.launch(some_tensors(), stream);
    CHECK(m.driver.functions_called() ==
          std::set<std::string>{"cuCtxGetCurrent", "cuLaunchKernel", "cuStreamIsCapturing"});
    CHECK(m.driver.total_calls() == 30);
    for (const FakeLaunch& launch : m.driver.launches()) CHECK(launch.stream == stream);
}

TEST_CASE("preparing the same again is served from memory, a new runtime from disk") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    m.runtime->prepare(small_problem());
    CHECK(m.driver.calls("cuModuleLoadDataEx") == 1);
    m.start();
    CHECK(m.runtime->prepare(small_problem()).source_digest() == op.source_digest());
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == 1);
    CHECK(m.driver.calls("cuModuleLoadDataEx") == 2);
}

TEST_CASE("threads that prepare the same at once compile and load once, and all launch") {
    FakeMachine m;
    std::atomic<int> arrived{0};
    m.nvrtc.on_compile = [&] {
        while (arrived < 8) std::this_thread::yield();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            ++arrived;
            m.runtime->prepare(small_problem()).launch(some_tensors());
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == 1);
    CHECK(m.driver.calls("cuModuleLoadDataEx") == 1);
    CHECK(m.driver.launches().size() == 8);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a compilation that failed reaches its caller and is tried again") {
    FakeMachine m;
    m.nvrtc.fail("nvrtcCompileProgram", 1);
    CHECK(error_of([&] { m.runtime->prepare(small_problem()); }).first == Code::compile_failed);
    m.runtime->prepare(small_problem()).launch(some_tensors());
    CHECK(m.warnings.empty());
}

TEST_CASE("a config given is used and named; one that cannot run is refused") {
    FakeMachine m;
    const Problem problem = small_problem();
    Config config = default_config(normalise(problem), Silicon());
    const Operator op = m.runtime->prepare(problem, config);
    CHECK(op.config_origin() == "given");
    CHECK(op.config() == config);
    config.lanes = 3;
    CHECK(error_of([&] { m.runtime->prepare(problem, config); }).first == Code::invalid_argument);
    CHECK(error_of([&] { m.runtime->prepare(Problem{}); }).first == Code::invalid_problem);
}

TEST_CASE("lazily loaded functions are forced in, and shared memory above 48 KB is allowed, by prepare()") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    CHECK(m.driver.calls("cuFuncLoad") == 1);
    CHECK(m.driver.calls("cuFuncGetAttribute") == 1);
    CHECK(m.driver.calls("cuFuncSetAttribute") == 0);
    Plan large = plan(op.problem(), op.config());
    large.steps[0].shared_bytes = 100 << 10;
    const auto context = m.runtime->state().context_for(0);
    const auto driver = m.runtime->state().driver();
    const CurrentContext current(*driver, context->handle());
    const Module module(context, {{}, "FAKE void " + large.steps[0].kernel + "(int a)", ""}, large);
    CHECK(m.driver.calls("cuFuncSetAttribute") == 1);
    CHECK(m.driver.state().functions.at(module.function(0)).most_shared == 100 << 10);
}

TEST_SUITE_END();
