// msda shapes, doctor and bench.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "runtime/shapes.hpp"
#include "tests/tools/command.hpp"

using msda::test::Command;
using msda::test::with_small_problem;
using nlohmann::json;

TEST_SUITE_BEGIN("tools");

TEST_CASE("shapes lists every shipped shape with its source") {
    const Command msda;
    const json answer = json::parse(msda({"shapes", "--json"}).out);
    CHECK(answer.size() == msda::model_shapes().size());
    for (const json& shape : answer) CHECK(shape["source"] != "");
    CHECK(msda({"shapes"}).out.find("ddetr-enc") != std::string::npos);
}

TEST_CASE("numbers override those of a named shape") {
    const Command msda;
    const auto result = msda({"inspect", "--shape", "ddetr-enc", "--batch", "3", "--levels", "8x8,4x4", "--points", "2",
                              "--what", "source", "--arch", "sm_90"});
    REQUIRE(result.status == 0);
    // An encoder's queries are its pixels: 80 follow from the new levels.
    CHECK(result.out.find("queries() const { return 80; }") != std::string::npos);
    CHECK(result.out.find("batch() const { return 3; }") != std::string::npos);
}

TEST_CASE("doctor answers on every machine") {
    const Command msda;
    const auto result = msda({"doctor"});
    CHECK(result.status == 0);
    CHECK(result.out.find("driver") != std::string::npos);
    CHECK(result.out.find("nvrtc") != std::string::npos);
}

TEST_CASE("bench writes its report and prints its table") {
    const Command msda;
    auto words = with_small_problem(
        {"bench", "--device", "cpu", "--dtype", "f32,f16", "--pass", "forward,backward", "--commit", "abc", "--json"});
    words.insert(words.begin() + 10, msda.path("deep/report.json"));
    const auto result = msda(words);
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.out.find("cold µs") != std::string::npos);
    const json report = json::parse(msda::fakes::read_text(msda.path("deep/report.json")));
    for (const char* key : {"gpu", "driver", "nvrtc", "device", "version", "date", "commit", "ceilings", "rows"})
        CHECK_MESSAGE(report.contains(key), key);
    CHECK(report["commit"] == "abc");
    CHECK(report["rows"].size() == 2 * 2 * 2 * 2);  // types, passes, locations, cold and warm
    for (const json& row : report["rows"]) {
        CHECK(row["verified"] == true);
        CHECK(row["median_us"] > 0);
        CHECK(row["mad_us"] >= 0);
        CHECK(row["compulsory_bytes_per_s"] > 0);
        CHECK(row["gather_bytes_per_s"] > 0);
        CHECK(row["scatter_bytes_per_s"].is_number() == (row["pass"] == "backward"));
    }
}

TEST_CASE("bench times captured inputs") {
    const Command msda;
    auto words = with_small_problem({"run", "--device", "cpu", "--save"});
    words.insert(words.begin() + 4, msda.path("captured"));
    REQUIRE(msda(words).status == 0);
    words = with_small_problem({"bench", "--device", "cpu", "--load"});
    words.insert(words.begin() + 4, msda.path("captured"));
    const auto result = msda(words);
    CHECK(result.status == 0);
    CHECK(result.out.find("captured") != std::string::npos);
}

TEST_CASE("output that cannot be written is an error") {
    const Command msda;
    auto words = with_small_problem({"bench", "--device", "cpu", "--json"});
    words.insert(words.begin() + 4, "/proc/none/report.json");
    const auto result = msda(words);
    CHECK(result.status == 10);
    CHECK(result.err.find("/proc/none") != std::string::npos);
}

TEST_SUITE_END();
