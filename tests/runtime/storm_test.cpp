// Many processes, threads and devices at once, some of them killed: nothing that was said to be saved is lost.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/disk_cache.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/runtime/processes.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database_file.hpp"

using namespace msda;
using namespace msda::fakes;
using test::start;
using test::wait_for;

namespace {

constexpr int processes = 16;
constexpr int rounds = 20;
constexpr int kernels = 4;

std::set<int> numbers_in(const std::string& path) {
    std::istringstream lines(read_text(path));
    std::set<int> numbers;
    for (int number = 0; lines >> number;) numbers.insert(number);
    return numbers;
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("16 processes, 20 rounds, one cache and one database, SIGKILL at random: nothing saved is lost") {
    const TemporaryDirectory directory;
    std::mt19937_64 random(1);
    std::chrono::duration<double> whole(1e9);  // one life, by the shortest of three on a busy machine
    for (const char* alone : {"alone 1", "alone 2", "alone 3"}) {
        const auto begin = std::chrono::steady_clock::now();
        CHECK(wait_for(start("msda_test_store_worker", {directory / alone, "1", fmt::format("{}", kernels)})) == 0);
        whole = std::min<std::chrono::duration<double>>(whole, std::chrono::steady_clock::now() - begin);
    }
    int killed = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<pid_t> workers;
        for (int i = 0; i < processes; ++i)
            workers.push_back(start(
                "msda_test_store_worker",
                {directory / "shared", fmt::format("{}", 1 + round * processes + i), fmt::format("{}", kernels)}));
        // Every other one is killed, at any moment of its life.
        for (int i = 0; i < processes; i += 2) {
            std::this_thread::sleep_for(whole * std::uniform_real_distribution<double>(0, 0.5)(random));
            ::kill(workers[static_cast<std::size_t>(i)], SIGKILL);
        }
        for (std::size_t i = 0; i < workers.size(); ++i) {
            const int status = wait_for(workers[i]);
            killed += status == 128 + SIGKILL;
            CHECK((status == 0 || (i % 2 == 0 && status == 128 + SIGKILL)));
        }
        // A cold cache for the next round.
        if (round + 1 < rounds) std::filesystem::remove_all(directory / "shared/cache");
    }
    const ParsedDatabase parsed = load_database(FileSystem(), directory / "shared/db.json");
    CHECK(parsed.complaints.empty());
    const std::set<int> saved = numbers_in(directory / "shared/saved");
    int lost = 0;
    for (const int number : saved)
        lost += parsed.database.find(canonical(test::decoder(number)), key_of(test::h200())) == nullptr;
    CHECK(lost == 0);
    CHECK(saved.size() >= rounds * processes / 2);
    CHECK(killed > rounds);
    const FileSystem files;
    Warnings warnings([](const std::string& message) { FAIL_CHECK(message); });
    const DiskCache cache(files, directory / "shared/cache", warnings);
    CHECK(cache.usage().entries == kernels);
    MESSAGE((rounds * processes) << " processes, " << killed << " killed, " << saved.size()
                                 << " records saved, lost: " << lost);
}

TEST_CASE("threads on several devices: each operator runs on its own device, compiled once for each, nothing left") {
    constexpr int devices = 4;
    constexpr int threads = 8;
    FakeMachine m(devices);
    std::atomic<int> launched = 0;
    {
        std::vector<std::jthread> team;
        for (int thread = 0; thread < threads; ++thread)
            team.emplace_back([&, thread] {
                std::mt19937 random(static_cast<unsigned>(thread));
                for (int i = 0; i < 60; ++i) {
                    const int device = static_cast<int>(random() % devices);
                    const Operator op =
                        m.runtime->prepare(small_problem(5 + static_cast<int>(random() % 3)), Device::gpu(device));
                    op.launch(some_tensors());
                    ++launched;
                    if (random() % 16 == 0) m.runtime->state().forget_operators();
                }
            });
    }
    CHECK(launched == threads * 60);
    CHECK(m.driver.launches().size() == static_cast<std::size_t>(threads) * 60);
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == 3);  // the devices are alike, so their code is
    std::set<CUcontext> contexts;
    for (const FakeLaunch& launch : m.driver.launches()) contexts.insert(launch.context);
    CHECK(contexts.size() == devices);
    CHECK(m.driver.violations().empty());
    m.runtime.reset();
    CHECK(m.driver.live_modules() == 0);
    for (int device = 0; device < devices; ++device) CHECK(m.driver.primary_references(device) == 0);
}

TEST_SUITE_END();
