// A record's JSON line: what is written is read back, and what is not a record is refused with the reason.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/schema.hpp"

using namespace msda;
using namespace msda::test;

namespace {

std::string why_refused(const std::string& line, int schema = current_schema) {
    try {
        parse_line(line, schema);
    } catch (const Error& error) {
        CHECK(error.code() == Code::bad_file);
        return error.what();
    }
    return "accepted";
}

nlohmann::json example_json() {
    nlohmann::json json = nlohmann::json::parse(to_line(record_of(decoder(), h200())));
    json.erase("digest");
    return json;
}

}  // namespace

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("a record survives the way through its line") {
    const Record record = record_of(decoder(), h200());
    const std::string line = to_line(record);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(parse_line(line, current_schema) == record);
    CHECK(to_line(parse_line(line, current_schema)) == line);
}

TEST_CASE("a line without digest is accepted, one with a wrong digest refused") {
    nlohmann::json json = example_json();
    CHECK(parse_line(json.dump(), current_schema) == record_of(decoder(), h200()));
    json["digest"] = std::string(32, '0');
    CHECK(why_refused(json.dump()).find("digest") != std::string::npos);
}

TEST_CASE("every key is needed, and no other is allowed") {
    const nlohmann::json whole = example_json();
    for (const auto& item : whole.items()) {
        nlohmann::json json = whole;
        json.erase(item.key());
        CHECK(why_refused(json.dump()).find("'" + item.key() + "' is missing") != std::string::npos);
        json[item.key()] = nlohmann::json::array();
        CHECK(why_refused(json.dump()) != "accepted");
    }
    nlohmann::json json = whole;
    json["surprise"] = 1;
    CHECK(why_refused(json.dump()).find("unknown key 'surprise'") != std::string::npos);
}

TEST_CASE("zero, negative and missing times never make a record") {
    for (const char* key : {"time_us", "default_us"})
        for (const nlohmann::json& time : {nlohmann::json(0), nlohmann::json(-1.5), nlohmann::json(nullptr)}) {
            nlohmann::json json = example_json();
            json[key] = time;
            CHECK(why_refused(json.dump()).find("no positive time") != std::string::npos);
        }
    CHECK(why_refused(R"({"time_us":1e999})") != "accepted");
    Record record = record_of(decoder(), h200());
    record.time_us = 0.0 / 1e-300 / 0.0;
    CHECK_THROWS_AS(rounded(record), Error);
    record.time_us = 1e-9;
    CHECK_THROWS_AS(rounded(record), Error);
}

TEST_CASE("size and depth of a line are limited") {
    CHECK(why_refused(std::string(100'000, '[')).find("nested deeper") != std::string::npos);
    CHECK(why_refused(std::string((1 << 20) + 1, ' ')).find("longer than") != std::string::npos);
    CHECK(why_refused("") == "not valid JSON");
    CHECK(why_refused("7") == "not a JSON object");
    CHECK(why_refused("{\"a\":\"\xff\"}") == "not valid JSON");
}

TEST_CASE("a record of schema 1 is migrated") {
    nlohmann::json json = example_json();
    json["times"] = json["time"];
    for (const char* key : {"time", "default_time", "policy", "candidates"}) json.erase(key);
    json["silicon"].erase("partition");
    const Record record = parse_line(json.dump(), 1);
    Record expected = record_of(decoder(), h200());
    expected.default_time = {};
    expected.policy = policy_partial;
    expected.candidates = 0;
    CHECK(record == expected);
    CHECK(why_refused(json.dump(), 2) != "accepted");
}

TEST_CASE("better is a strict total order: policy, speed-up, samples, digest") {
    const Record base = record_of(decoder(), h200(), 1.2);
    Record partial = record_of(decoder(), h200(), 2.0);
    partial.policy = policy_partial;
    CHECK(better(base, partial));
    const Record faster = record_of(decoder(), h200(), 1.3);
    CHECK(better(faster, base));
    Record slower_node = faster;  // absolute times of two nodes do not compare, ratios do
    slower_node.default_us = 1000;
    slower_node.time_us = 500;
    CHECK(better(slower_node, faster));
    Record more_samples = base;
    more_samples.samples++;
    CHECK(better(more_samples, base));
    Record other_date = base;
    other_date.date = "2026-01-01T00:00:00Z";
    CHECK(better(base, other_date) != better(other_date, base));
    CHECK_FALSE(better(base, base));
}

TEST_SUITE_END();
