// What only whole processes show: races on one cache, killed writers, fork, objects that outlive main.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/disk_cache.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/runtime/processes.hpp"

using namespace msda;
using namespace msda::fakes;
using test::start;
using test::wait_for;

namespace {

// The exit status of a child that runs `body` after fork(); 99 when it throws.
template <class Body>
int in_child(Body body) {
    const pid_t child = ::fork();
    if (child != 0) return wait_for(child);
    int status = 99;
    try {
        status = body();
    } catch (...) {
    }
    ::_exit(status);
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("lesson 23: 16 processes, 4 kernels, 20 rounds on one cold cache: one entry a kernel, nothing else left") {
    for (int round = 0; round < 20; ++round) {
        const TemporaryDirectory directory;
        std::vector<pid_t> workers;
        for (int i = 0; i < 16; ++i) workers.push_back(start("msda_test_cache_worker", {directory / "cache", "4"}));
        for (const pid_t worker : workers) CHECK(wait_for(worker) == 0);
        CHECK(directory.files() == 4);
    }
}

TEST_CASE("lesson 26: writers killed at any moment leave nothing that stops or misleads the next") {
    const TemporaryDirectory directory;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(wait_for(start("msda_test_cache_worker", {directory / "unharmed", "26"})) == 0);
    const auto whole = std::chrono::steady_clock::now() - begin;
    int killed = 0;
    constexpr int rounds = 40;
    for (int round = 0; round < rounds; ++round) {
        std::filesystem::remove(directory /
                                fmt::format("cache/{}.msda-bin", std::string(32, static_cast<char>('a' + round % 26))));
        const pid_t worker = start("msda_test_cache_worker", {directory / "cache", "26"});
        std::this_thread::sleep_for(whole * (round + 1) / rounds);
        ::kill(worker, SIGKILL);
        killed += wait_for(worker) == 128 + SIGKILL;
    }
    CHECK(wait_for(start("msda_test_cache_worker", {directory / "cache", "26"})) == 0);
    const FileSystem files;
    Warnings warnings([](const std::string& message) { FAIL_CHECK(message); });
    DiskCache cache(files, directory / "cache", warnings);
    CHECK(cache.usage().entries == 26);
    cache.prune(std::int64_t{1} << 40, std::int64_t{1} << 40, std::time(nullptr) + 7200);
    CHECK(cache.usage().entries == 26);
    CHECK(directory.files() == 2 * 26);
    MESSAGE(killed << " writers killed");
}

TEST_CASE("lesson 34: a static Runtime opens nothing unused and is destroyed late without harm") {
    CHECK(wait_for(start("msda_test_static_runtime", {"idle"})) == 0);
    CHECK(wait_for(start("msda_test_static_runtime", {"cpu"})) == 0);
    FakeMachine m;
    m.driver.forget_calls();
    m.start();
    const int to_start = m.driver.total_calls();
    m.driver.forget_calls();
    { const Runtime unused(m.options()); }
    CHECK(m.driver.total_calls() == 0);
    CHECK(to_start == 3);  // use_driver() in the fake machine: cuInit, version, device count
}

TEST_CASE("lesson 35: a process forked after CUDA was started gets a clear error; the parent goes on") {
    FakeMachine m;
    const Operator op = m.runtime->prepare(small_problem());
    const auto refused = [](auto call) {
        const auto [code, message] = error_of(call);
        return code == Code::driver_failed && message.find("forked after CUDA was started") != std::string::npos ? 0
                                                                                                                 : 1;
    };
    CHECK(in_child([&] { return refused([&] { op.launch(some_tensors()); }); }) == 0);
    CHECK(in_child([&] { return refused([&] { m.runtime->prepare(small_problem(9)); }); }) == 0);
    // Destroying what the parent made calls no driver.
    CHECK(in_child([&] {
              m.driver.forget_calls();
              m.runtime.reset();
              return m.driver.total_calls() == 0 ? 0 : 1;
          }) == 0);
    op.launch(some_tensors());
    CHECK(m.driver.launches().size() == 1);
}

TEST_CASE("the child of a fork has no background thread to wait for") {
    FakeMachine m;
    Options options = m.options();
    options.tier_up = true;
    m.runtime = std::make_unique<Runtime>(options);
    m.runtime->state().use_driver(m.driver.started());
    m.runtime->state().use_nvrtc(m.nvrtc.library());
    const Operator op = m.runtime->prepare(small_problem());
    m.runtime->settle();
    CHECK(in_child([&] {
              m.runtime->settle();
              m.runtime.reset();
              return 0;
          }) == 0);
    m.runtime->prepare(small_problem(9)).launch(some_tensors());
    m.runtime->settle();
    CHECK(m.runtime->prepare(small_problem(9)).tier() == Specialise::exact);
}

TEST_CASE("a process that exits while its background thread compiles waits for that compilation") {
    CHECK(wait_for(start("msda_test_exiting_worker", {})) == 0);
}

TEST_CASE("forking before the first use is fine") {
    FakeDriver driver;
    CHECK(in_child([&] {
              Runtime runtime{Options{}};
              runtime.state().use_driver(driver.started());
              return runtime.silicon(Device::gpu()).capability == 90 ? 0 : 1;
          }) == 0);
}

TEST_SUITE_END();
