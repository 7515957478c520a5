// msda run and verify on the devices that every machine has.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "runtime/npy.hpp"
#include "tests/tools/command.hpp"

using msda::test::Command;
using msda::test::with_small_problem;
using nlohmann::json;

TEST_SUITE_BEGIN("tools");

TEST_CASE("run --json has every key, on the CPU and under emulation") {
    const Command msda;
    for (const char* device : {"cpu", "emulate"})
        for (const char* pass : {"forward", "backward"}) {
            CAPTURE(device);
            CAPTURE(pass);
            const auto result =
                msda(with_small_problem({"run", "--device", device, "--pass", pass, "--dtype", "f16", "--json"}));
            CHECK(result.status == 0);
            CHECK(result.err == "");
            const json answer = json::parse(result.out);
            for (const char* key : {"device", "gpu", "shape", "pass", "dtype", "locations", "config", "config_origin",
                                    "source_digest", "workspace_bytes", "verified", "max_error", "norm_error", "errors",
                                    "median_us", "problem", "version"})
                CHECK_MESSAGE(answer.contains(key), key);
            CHECK(answer["device"] == device);
            CHECK(answer["gpu"].is_null());
            CHECK(answer["shape"] == "custom");
            CHECK(answer["pass"] == pass);
            CHECK(answer["verified"] == true);
            CHECK(answer["median_us"] > 0);
            CHECK(answer["prepare_ms"] > 0);
            CHECK(answer["norm_error"] <= 1e-3);
            CHECK(answer["config"]["tile_width"].is_number_integer());
            const bool backward = std::string(pass) == "backward";
            CHECK(answer.contains("accumulate") == backward);
            CHECK(answer["errors"].size() == (backward ? 3 : 1));
        }
}

TEST_CASE("run computes only the gradients asked for") {
    const Command msda;
    const auto result = msda(with_small_problem(
        {"run", "--device", "cpu", "--pass", "backward", "--grads", "weights", "--dtype", "f32", "--json"}));
    REQUIRE(result.status == 0);
    const json answer = json::parse(result.out);
    CHECK(answer["errors"].size() == 1);
    CHECK(answer["errors"].contains("grad_weights"));
}

TEST_CASE("run takes a problem of its own --json back") {
    const Command msda;
    const auto first = msda(with_small_problem({"run", "--device", "cpu", "--pass", "backward", "--json"}));
    REQUIRE(first.status == 0);
    const std::string problem = json::parse(first.out)["problem"];
    const auto second = msda({"run", "--device", "cpu", "--problem", problem, "--json"});
    REQUIRE(second.status == 0);
    CHECK(json::parse(second.out)["source_digest"] == json::parse(first.out)["source_digest"]);
}

TEST_CASE("an empty problem is right and computes nothing") {
    const Command msda;
    const auto result = msda(with_small_problem({"run", "--device", "cpu", "--batch", "0", "--json"}));
    CHECK(result.status == 0);
    CHECK(json::parse(result.out)["verified"] == true);
}

TEST_CASE("--config changes fields of the default and says that it was given") {
    const Command msda;
    const auto result = msda(with_small_problem({"run", "--device", "emulate", "--config", "unroll=2", "--json"}));
    CHECK(result.status == 0);
    const json answer = json::parse(result.out);
    CHECK(answer["config_origin"] == "given");
    CHECK(answer["config"]["unroll"] == 2);
}

TEST_CASE("what --save writes, --load reads, and both runs agree to the bit") {
    const Command msda;
    for (const char* pass : {"forward", "backward"}) {
        CAPTURE(pass);
        const std::string first = msda.path(std::string("first-") + pass),
                          second = msda.path(std::string("second-") + pass);
        const std::vector<std::string> common = {"run", "--device", "cpu", "--dtype", "bf16", "--pass", pass};
        auto words = with_small_problem(common);
        words.insert(words.end(), {"--seed", "7", "--save", first});
        REQUIRE(msda(words).status == 0);
        words = with_small_problem(common);
        words.insert(words.end(), {"--load", first, "--save", second});
        REQUIRE(msda(words).status == 0);
        const std::vector<std::string> outputs =
            std::string(pass) == "forward"
                ? std::vector<std::string>{"output"}
                : std::vector<std::string>{"grad_output", "grad_value", "grad_locations", "grad_weights"};
        for (const std::string& name : outputs) {
            const std::string before = msda::fakes::read_text(first + "/" + name + ".npy");
            CHECK(before.size() > 128);
            CHECK(msda::fakes::read_text(second + "/" + name + ".npy") == before);
        }
        CHECK(msda::read_npy(first + "/locations.npy").shape == std::vector<std::int64_t>{1, 5, 2, 2, 2, 2});
        CHECK(msda::read_npy(first + "/value.npy").descr == "<V2");
    }
}

TEST_CASE("--load names what is wrong with a file and writes nothing") {
    const Command msda;
    const std::string saved = msda.path("saved"), never = msda.path("never");
    auto words = with_small_problem({"run", "--device", "cpu", "--save"});
    words.insert(words.begin() + 4, saved);
    REQUIRE(msda(words).status == 0);

    words = with_small_problem({"run", "--device", "cpu", "--batch", "2", "--load"});
    words.insert(words.begin() + 6, saved);
    words.insert(words.end(), {"--save", never});
    const auto other_shape = msda(words);
    CHECK(other_shape.status == 11);
    CHECK(other_shape.err.find("value.npy") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(never));

    words[6] = msda.path("nowhere");
    const auto missing = msda(words);
    CHECK(missing.status == 10);
    CHECK(missing.err.find("nowhere") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(never));
}

TEST_CASE("verify takes lists and prints one object a combination") {
    const Command msda;
    const auto result = msda(with_small_problem({"verify", "--device", "cpu", "--dtype", "f32,bf16", "--pass",
                                                 "forward,backward", "--accumulate", "native,f32", "--json"}));
    CHECK(result.status == 0);
    const json answer = json::parse(result.out);
    // A forward sums nothing, so it stands once for both accumulators.
    CHECK(answer.size() == 6);
    for (const json& one : answer) CHECK(one["verified"] == true);

    const auto table = msda(with_small_problem({"verify", "--device", "cpu", "--dtype", "f32,f16"}));
    CHECK(table.status == 0);
    CHECK(table.out.find("2 of 2 right") != std::string::npos);
    CHECK(table.out.find("norm error") != std::string::npos);
}

TEST_SUITE_END();
