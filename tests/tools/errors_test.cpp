// Bad input: a clear sentence on stderr, the documented exit code, nothing on stdout.
#include <doctest/doctest.h>

#include "tests/tools/command.hpp"

using msda::test::Command;
using msda::test::with_small_problem;

namespace {

struct Bad {
    std::vector<std::string> words;
    int status;
    std::vector<std::string> said;  // all of them on stderr
};

void check_refused(const Command& msda, const Bad& bad) {
    const auto result = msda(bad.words);
    CAPTURE(result.err);
    CHECK(result.status == bad.status);
    CHECK(result.out == "");
    for (const std::string& text : bad.said) CHECK_MESSAGE(result.err.find(text) != std::string::npos, text);
}

}  // namespace

TEST_SUITE_BEGIN("tools");

TEST_CASE("each refusal of the operator reaches the user with expected and got") {
    const Command msda;
    const std::vector<Bad> all = {
        {with_small_problem({"run", "--pixels", "20"}), 1, {"level 0", "S = 20"}},
        {with_small_problem({"run", "--dtype", "f32", "--location-dtype", "f16"}), 1, {"location type", "f32", "f16"}},
        {with_small_problem({"run", "--dtype", "bf16", "--weight-dtype", "f16"}), 1, {"weight type", "bf16", "f16"}},
        {with_small_problem({"run", "--dtype", "f8"}), 1, {"f8", "f32", "bf16"}},
        {with_small_problem({"run", "--dtype", "e4m3", "--pass", "backward"}), 1, {"e4m3", "forward"}},
        {with_small_problem({"run", "--output-dtype", "f16"}), 1, {"output type", "type f32, got f16"}},
        {with_small_problem({"run", "--dtype", "f16", "--output-dtype", "f32"}), 1, {"output type", "f16, got f32"}},
        {with_small_problem({"run", "--alignment", "3"}), 1, {"alignment", "3"}},
        {with_small_problem({"run", "--pillars", "2"}), 1, {"pillars"}},
        {{"run", "--levels", "4x4,2x2", "--queries", "3", "--points", "3,6,3"}, 1, {"points", "2 levels", "3 counts"}},
    };
    for (const Bad& bad : all) check_refused(msda, bad);
}

TEST_CASE("an unknown shape is refused with the close ones") {
    const Command msda;
    check_refused(msda, {{"run", "--shape", "ddetr-encoder"}, 1, {"ddetr-encoder", "ddetr-enc", "msda shapes"}});
}

TEST_CASE("numbers are read strictly") {
    const Command msda;
    for (const char* text : {"", "x", "1x", "1.5", "0x10", " 1", "+1", "-1", "2147483648", "99999999999999999999"})
        check_refused(msda,
                      {with_small_problem({"run", "--batch", text}), 2, {"--batch", "integer from 0 to 2147483647"}});
    check_refused(msda, {{"run", "--queries", "1", "--levels", "4x0"}, 2, {"--levels width", "'0'"}});
    check_refused(msda, {{"run", "--queries", "1", "--levels", "4"}, 2, {"HEIGHTxWIDTH", "'4'"}});
    check_refused(msda, {{"run", "--queries", "1", "--levels", "4x4,"}, 2, {"HEIGHTxWIDTH"}});
    check_refused(msda, {with_small_problem({"run", "--value-strides", "1,2"}), 2, {"--value-strides", "three", "2"}});
}

TEST_CASE("options that do not fit are refused by name") {
    const Command msda;
    const std::vector<Bad> all = {
        {{"run"}, 2, {"--shape", "--levels"}},
        {{"run", "--levels", "4x4"}, 2, {"--queries"}},
        {{"run", "--shape", "ddetr-dec", "--nonsense"}, 2, {"--nonsense"}},
        {{"nonsense"}, 2, {"nonsense"}},
        {{}, 2, {"--help"}},
        {with_small_problem({"run", "--dtype", "f32,f16"}), 2, {"--dtype", "one name", "2"}},
        {with_small_problem({"run", "--device", "tpu"}), 2, {"--device", "cpu", "tpu"}},
        {with_small_problem({"run", "--locations", "odd"}), 2, {"--locations", "uniform", "odd"}},
        {with_small_problem({"run", "--grads", "values"}), 2, {"--grads", "locations", "values"}},
        {with_small_problem({"run", "--device", "cpu", "--config", "tile=3"}), 2, {"--config", "tile_width", "tile=3"}},
        {with_small_problem({"run", "--device", "cpu", "--config", "unroll=2 unroll=4"}), 2, {"unroll", "twice"}},
        {with_small_problem({"run", "--device", "cpu", "--config", "vector=32"}), 2, {"vector", "32"}},
        {with_small_problem({"inspect", "--what", "hex"}), 2, {"--what", "ptx", "hex"}},
        {with_small_problem({"inspect", "--what", "source", "--arch", "hopper"}), 2, {"--arch", "sm_90", "hopper"}},
        {with_small_problem({"bench", "--device", "cpu", "--l2", "hot"}), 2, {"--l2", "warm", "hot"}},
    };
    for (const Bad& bad : all) check_refused(msda, bad);
}

TEST_CASE("a problem that no memory holds is refused before it is computed") {
    const Command msda;
    const auto result = msda({"run", "--device", "cpu", "--levels", "1x1", "--queries", "2000000000", "--heads",
                              "1000000", "--head-dim", "1000"});
    CHECK(result.status == 9);
    CHECK(result.out == "");
}

TEST_CASE("a GPU that is not there is refused") {
    const Command msda;
    const auto result =
        msda(with_small_problem({"run", "--device", "gpu"}), {{"MSDA_DRIVER", "/nonexistent/libcuda.so"}});
    CHECK(result.status == 4);
    CHECK(result.err.find("/nonexistent/libcuda.so") != std::string::npos);
}

TEST_CASE("a missing NVRTC is refused with the paths that were tried, each once, and nothing is written") {
    const Command msda;
    auto words = with_small_problem({"compile", "--arch", "sm_90", "-o"});
    words.insert(words.begin() + 4, msda.path("out"));
    const auto result = msda(words, {{"MSDA_NVRTC", "/nonexistent/libnvrtc.so"}});
    CHECK(result.status == 5);
    CHECK(result.out == "");
    const std::string line = "  /nonexistent/libnvrtc.so (MSDA_NVRTC)";
    CHECK(result.err.find(line) != std::string::npos);
    CHECK(result.err.find(line) == result.err.rfind(line));
    CHECK_FALSE(std::filesystem::exists(msda.path("out")));
}

TEST_CASE("--help of every subcommand works and tells the exit codes") {
    const Command msda;
    const auto all = msda({"--help"});
    CHECK(all.status == 0);
    CHECK(all.out.find("12 a result differs from the reference") != std::string::npos);
    for (const char* name : {"run", "verify", "bench", "compile", "inspect", "shapes", "cache", "doctor"}) {
        CHECK_MESSAGE(all.out.find(name) != std::string::npos, name);
        const auto one = msda({name, "--help"});
        CHECK(one.status == 0);
        CHECK(one.err == "");
    }
    CHECK(msda({"--version"}).out.find('.') != std::string::npos);
}

TEST_SUITE_END();
