// What the published figures (docs/benchmarks) must show, whoever measures them next.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/paths.hpp"

using nlohmann::json;

TEST_SUITE_BEGIN("bench");

TEST_CASE("lesson 16: in the published figures bf16 is never slower than f32, forward and with native sums") {
    std::ifstream file(std::string(msda::test::source_folder()) + "/docs/benchmarks/h200.json");
    const json run = json::parse(file);
    // By everything but the type; the problem's text holds types, so it cannot be the key. Only rows of one version
    // compare.
    std::map<std::string, std::map<std::string, json>> rows;
    for (const json& row : run["rows"]) {
        const auto problem = row["problem"].get<std::string>();
        const auto batch = problem.substr(0, problem.find(" queries"));
        const std::string key = batch + row["shape"].dump() + row.value("accumulate", json()).dump() +
                                row["locations"].dump() + row["l2"].dump() + row["commit"].dump();
        rows[key][row["dtype"]] = row;
    }
    int compared = 0;
    for (const auto& [key, types] : rows) {
        if (!types.contains("bf16") || !types.contains("f32")) continue;
        const json& narrow = types.at("bf16");
        if (narrow["pass"] == "backward" && narrow["accumulate"] != "native") continue;
        const double slack = 3 * (narrow["mad_us"].get<double>() + types.at("f32")["mad_us"].get<double>());
        CHECK_MESSAGE(narrow["median_us"].get<double>() <= types.at("f32")["median_us"].get<double>() + slack, key);
        ++compared;
    }
    CHECK(compared >= 10);
}

TEST_SUITE_END();
