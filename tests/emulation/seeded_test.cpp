// ThreadSanitizer reports each seeded race of an emulated kernel, and nothing where there is none. Each runs in a
// process of its own.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>

#include "runtime/emulation/sanitizers.hpp"
#include "tests/paths.hpp"

namespace {

struct Outcome {
    int status = -1;
    std::string output;
};

Outcome run_seeded(const std::string& name) {
    const std::string command =
        fmt::format("TSAN_OPTIONS=halt_on_error=1:exitcode=66 '{}/msda_test_seeded_defect' {} 2>&1",
                    msda::test::program_folder(), name);
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        outcome.output.append(buffer.data(), n);
    const int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("ThreadSanitizer reports every seeded race, and none in sound kernels") {
    if (!msda::emulation::under_tsan) {
        MESSAGE("skipped: needs a build with ThreadSanitizer");
        return;
    }
    const Outcome usage = run_seeded("");
    REQUIRE(usage.status == 2);
    std::istringstream names(usage.output.substr(usage.output.find('\n') + 1));
    int races = 0;
    for (std::string name; std::getline(names, name);) {
        const Outcome outcome = run_seeded(name);
        INFO(name, ": ", outcome.output);
        if (name == "none") {
            CHECK(outcome.status == 0);
        } else {
            CHECK(outcome.status == 66);
            CHECK(outcome.output.find("ThreadSanitizer: data race") != std::string::npos);
            races++;
        }
    }
    CHECK(races >= 15);  // 10 by hand and the barriers of the dense form
}

TEST_SUITE_END();
