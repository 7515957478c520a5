#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/paths.hpp"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// Sets a variable for one scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    ~Variable() { ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
};

std::multiset<std::string> matches(const std::string& text, const std::regex& pattern) {
    std::multiset<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
        found.insert((*match)[1]);
    return found;
}

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("options come from the environment, and a value that does not fit is refused by name") {
    {
        const Variable directory("MSDA_CACHE_DIR", "/tmp/somewhere");
        const Variable cache("MSDA_CACHE", "0");
        const Variable tune("MSDA_TUNE", "on_miss");
        const Variable threads("MSDA_CPU_THREADS", "3");
        const Variable tiers("MSDA_TIER_UP", "1");
        const Variable site("MSDA_DB_SITE", "/tmp/a:/tmp/b");
        const Variable packs("MSDA_PACK", "/tmp/c.pack");
        const Options options = Options::from_environment();
        CHECK(options.cache_directory == "/tmp/somewhere");
        CHECK_FALSE(options.disk_cache);
        CHECK(options.tune_on_miss);
        CHECK(options.cpu_threads == 3);
        CHECK(options.tier_up);
        CHECK(options.site_databases == "/tmp/a:/tmp/b");
        CHECK(options.packs == "/tmp/c.pack");
        CHECK_FALSE(options.deterministic);
    }
    for (const auto& [name, value] : {std::pair{"MSDA_CACHE", "yes"},
                                      {"MSDA_TUNE", "always"},
                                      {"MSDA_CPU_THREADS", "-1"},
                                      {"MSDA_CPU_THREADS", "4x"},
                                      {"MSDA_TIER_UP", "on"},
                                      {"MSDA_DETERMINISTIC", "2"}}) {
        const Variable variable(name, value);
        const auto [code, message] = error_of([] { Options::from_environment(); });
        CHECK(code == Code::invalid_argument);
        CHECK(message.starts_with(name));
        CHECK(message.find(fmt::format("got '{}'", value)) != std::string::npos);
    }
}

TEST_CASE("docs/environment.md lists exactly the variables that the code reads, each once") {
    const std::filesystem::path root = msda::test::source_folder();
    std::set<std::string> read;
    // A quoted name on a line that asks for a variable.
    const std::regex asks("(?:getenv|variable|environment|flag|count|environ\\.get)\\(\"(MSDA_[A-Z_]+)\"");
    for (const char* part : {"generator", "tuning_db", "runtime", "tools", "python/msda"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / part))
            if (const auto kind = entry.path().extension(); kind == ".cpp" || kind == ".hpp" || kind == ".py")
                for (const std::string& name : matches(read_text(entry.path()), asks)) read.insert(name);
    const auto documented = matches(read_text(root / "docs/environment.md"), std::regex("\\| `(MSDA_[A-Z_]+)` \\|"));
    CHECK(read.size() > 8);
    std::string only_read;
    std::string only_documented;
    for (const std::string& name : read)
        if (!documented.contains(name)) only_read += name + " ";
    for (const std::string& name : documented)
        if (!read.contains(name) || documented.count(name) > 1) only_documented += name + " ";
    CHECK(only_read == "");
    CHECK(only_documented == "");
}

TEST_CASE("lesson 25: without HOME kernels stay in memory, with one warning that names the variable") {
    const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::unsetenv("HOME");
    FakeMachine m;
    Options options = m.options();
    options.cache_directory.clear();
    {
        Runtime runtime(options);
        runtime.state().use_driver(m.driver.started());
        runtime.state().use_nvrtc(m.nvrtc.library());
        CHECK(m.warnings.empty());
        runtime.prepare(small_problem(5)).launch(some_tensors());
        runtime.prepare(small_problem(6)).launch(some_tensors());
    }
    if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
    REQUIRE(m.warnings.size() == 1);
    CHECK(m.warnings[0].find("MSDA_CACHE_DIR") != std::string::npos);
}

TEST_CASE("doctor names driver, devices, compiler and cache, and what is missing") {
    FakeMachine m;
    m.runtime->prepare(small_problem());
    const std::string text = m.runtime->doctor();
    for (const char* part :
         {"gpu 0: Fake H200, sm_90, 132 SMs", "/fake/libnvrtc.so of CUDA 13.0", "1 entries", "cache: "})
        CHECK(text.find(part) != std::string::npos);
    Options options;
    options.driver_library = "/nowhere/libcuda.so.1";
    options.nvrtc_library = "/nowhere/libnvrtc.so";
    Runtime without(options);
    CHECK_FALSE(without.has_gpu());
    const std::string missing = without.doctor();
    CHECK(missing.find("/nowhere/libcuda.so.1 (MSDA_DRIVER): ") != std::string::npos);
    CHECK(missing.find("/nowhere/libnvrtc.so (MSDA_NVRTC): ") != std::string::npos);
    CHECK(error_of([&] { without.prepare(small_problem()); }).first == Code::no_driver);
}

TEST_CASE("silicon is what the driver says, with the partition in the name; of host devices the default") {
    FakeDevice device;
    device.name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
    device.silicon.sm_count = 16;
    device.silicon.bus_width = 5120;
    FakeDriver driver({device});
    Runtime runtime{Options{}};
    runtime.state().use_driver(driver.started());
    device.silicon.partition = "1g.10gb";
    CHECK(runtime.silicon(Device::gpu()) == device.silicon);
    CHECK(runtime.silicon(Device::cpu()) == Silicon());
    CHECK(std::string(version()) == MSDA_VERSION);  // CMakeLists.txt has the one place
}

TEST_CASE("a driver that is too old or sees no device is no driver, with the reason") {
    FakeDriver old({FakeDevice{}}, 11080);
    CHECK(error_of([&] { old.started(); }).second.find("12.0 or newer (driver 525)") != std::string::npos);
    FakeDriver none(std::vector<FakeDevice>{});
    CHECK(error_of([&] { none.started(); }).first == Code::no_driver);
}

TEST_SUITE_END();
