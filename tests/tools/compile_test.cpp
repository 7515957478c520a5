// msda compile and inspect with the NVRTC of this machine, and what needs none.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/runtime/real_nvrtc.hpp"
#include "tests/tools/command.hpp"

using msda::test::Command;
using msda::test::with_small_problem;
using nlohmann::json;

TEST_SUITE_BEGIN("tools");

TEST_CASE("inspect shows source and plan with no compiler and no GPU") {
    const Command msda;
    const std::pair<std::string, std::string> no_nvrtc{"MSDA_NVRTC", "/nonexistent/libnvrtc.so"};
    const auto source = msda(with_small_problem({"inspect", "--what", "source", "--arch", "sm_80"}), {no_nvrtc});
    CHECK(source.status == 0);
    CHECK(source.out.find("struct Traits") != std::string::npos);
    CHECK(source.out.find("extern \"C\" __global__") != std::string::npos);
    const auto plan =
        msda(with_small_problem({"inspect", "--what", "plan", "--pass", "backward", "--arch", "sm_90"}), {no_nvrtc});
    CHECK(plan.status == 0);
    CHECK(plan.out.find("launch ") != std::string::npos);
    CHECK(plan.out.find("workspace ") != std::string::npos);
}

TEST_CASE("compile writes one cubin an architecture, from the cache the second time") {
    if (msda::fakes::real_nvrtc() == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    const Command msda;
    auto words = with_small_problem({"compile", "--arch", "sm_90", "--arch", "sm_80", "--json", "-o"});
    words.insert(words.begin() + 7, msda.path("out"));
    for (int i = 0; i < 2; i++) {
        const auto result = msda(words);
        REQUIRE(result.status == 0);
        const json answer = json::parse(result.out);
        REQUIRE(answer.size() == 2);
        CHECK(answer[0]["arch"] == "sm_90");
        CHECK(answer[1]["arch"] == "sm_80");
        for (const json& one : answer) {
            const std::string file = msda.path("out") + "/" + one["file"].get<std::string>();
            const std::string cubin = msda::fakes::read_text(file);
            CHECK(cubin.size() == one["bytes"]);
            CHECK(cubin.substr(1, 3) == "ELF");
        }
    }
    // The two binaries, and what is known of the compiler.
    const auto info = msda({"cache", "info", "--json"});
    REQUIRE(info.status == 0);
    const int entries = json::parse(info.out)["entries"];
    CHECK(entries >= 2);
    CHECK(json::parse(msda({"cache", "prune", "--max-mib", "0", "--json"}).out)["entries"] == entries);
    CHECK(json::parse(msda({"cache", "info", "--json"}).out)["entries"] == 0);
}

TEST_CASE("inspect shows PTX, resources and atomics of a backward") {
    if (msda::fakes::real_nvrtc() == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    const Command msda;
    const auto ptx = msda(with_small_problem({"inspect", "--what", "ptx", "--arch", "sm_90"}));
    REQUIRE(ptx.status == 0);
    CHECK(ptx.out.find(".target sm_90") != std::string::npos);

    const auto resources = msda({"inspect", "--shape", "ddetr-dec", "--pass", "backward", "--dtype", "f16",
                                 "--accumulate", "native", "--config", "scatter=0", "--arch", "sm_90", "--json"});
    CAPTURE(resources.err);
    REQUIRE(resources.status == 0);
    const json answer = json::parse(resources.out);
    REQUIRE(answer["kernels"].size() >= 1);
    for (const json& kernel : answer["kernels"]) {
        CHECK(kernel["registers"] > 0);
        CHECK(kernel["occupancy"] > 0);
        CHECK(kernel["occupancy"] <= 1);
    }
    bool vector_red = false;
    for (const json& atomic : answer["atomics"]) {
        const std::string opcode = atomic["opcode"];
        CHECK(opcode.find("cas") == std::string::npos);
        vector_red = vector_red || opcode.find("v4.f16x2") != std::string::npos;
    }
    CHECK(vector_red);
}

TEST_CASE("inspect shows SASS where a disassembler is, and says what is missing where none is") {
    if (msda::fakes::real_nvrtc() == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    const Command msda;
    const auto words = with_small_problem({"inspect", "--what", "sass", "--arch", "sm_90"});
    const auto none = msda(words, {{"MSDA_CUOBJDUMP", "/nonexistent/cuobjdump"}});
    CHECK(none.status == 3);
    CHECK(none.out == "");
    CHECK(none.err.find("/nonexistent/cuobjdump") != std::string::npos);
    for (const char* variable : {"MSDA_TEST_NVDISASM", "MSDA_TEST_CUOBJDUMP"}) {
        const char* tool = std::getenv(variable);
        if (tool == nullptr) {
            MESSAGE("skipped: " << variable << " is not set");
            return;
        }
        const auto sass = msda(words, {{"MSDA_CUOBJDUMP", tool}});
        CAPTURE(sass.err);
        CHECK(sass.status == 0);
        CHECK(sass.out.find("EXIT") != std::string::npos);
    }
}

TEST_CASE("a GPU that the NVRTC has dropped is refused with a version that works") {
    const auto nvrtc = msda::fakes::real_nvrtc();
    if (nvrtc == nullptr || nvrtc->info().architectures.front() <= 70) {
        MESSAGE("skipped: no NVRTC that has dropped sm_70");
        return;
    }
    const Command msda;
    const auto result = msda(with_small_problem({"compile", "--arch", "sm_70"}));
    CHECK(result.status == 3);
    CHECK(result.err.find("sm_70") != std::string::npos);
    CHECK(result.err.find("12.") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(msda.path("cache")));
}

TEST_CASE("what no launch on that GPU would run is not compiled for it") {
    const Command msda;
    for (const char* command : {"compile", "pack", "inspect"}) {
        auto words = with_small_problem(
            {command, "--arch", "sm_80", "--pass", "backward", "--dtype", "bf16", "--accumulate", "native"});
        if (std::string_view(command) != "inspect") words.insert(words.end(), {"-o", msda.path("out")});
        const auto result = msda(words);
        CAPTURE(result.err);
        CHECK(result.status == 3);
        CHECK(result.out == "");
        CHECK(result.err.find("native bf16 needs sm_90 or newer") != std::string::npos);
        for (const char* written : {"out", "cache"}) CHECK_FALSE(std::filesystem::exists(msda.path(written)));
    }
}

TEST_SUITE_END();
