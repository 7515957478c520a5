// schema.json describes exactly what the library writes; judged by Python's jsonschema where that is installed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tuning_db/example.hpp"
#include "tuning_db/builtin.hpp"
#include "tuning_db/database_file.hpp"
#include "tuning_db/schema.hpp"

using namespace msda;
using namespace msda::test;

namespace {

nlohmann::json schema() {
    std::ifstream file(MSDA_TEST_SOURCE_DIR "/tuning_db/schema.json");
    return nlohmann::json::parse(file);
}

bool valid(const std::string& path) {
    const std::string command =
        "python3 -c 'import json,sys,jsonschema; "
        "jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' "
        "'" MSDA_TEST_SOURCE_DIR "/tuning_db/schema.json' '" +
        path + "' 2>/dev/null";
    return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("the schema names every key that a record has, and its version") {
    const nlohmann::json record = nlohmann::json::parse(to_line(record_of(decoder(), h200())));
    const nlohmann::json described = schema()["definitions"]["record"]["properties"];
    for (const auto& item : record.items()) CHECK_MESSAGE(described.contains(item.key()), item.key());
    for (const auto& item : described.items()) CHECK_MESSAGE(record.contains(item.key()), item.key());
    CHECK(schema()["properties"]["database"]["properties"]["schema"]["const"] == current_schema);
}

TEST_CASE("jsonschema accepts what we write and refuses what we would skip") {
    if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
        MESSAGE("skipped: python3 with jsonschema is not installed");
        return;
    }
    const TemporaryDirectory directory;
    const std::string path = directory / "db.json";
    Database database;
    database.add(record_of(decoder(), h200()));
    database.add(record_of(decoder(900), h200()));
    save_database(FileSystem(), path, database);
    CHECK(valid(path));
    for (const auto& file : builtin_databases()) {
        std::ofstream(directory / "builtin.json") << file.text;
        CHECK_MESSAGE(valid(directory / "builtin.json"), file.name);
    }
    std::ifstream file(path);
    const nlohmann::json whole = nlohmann::json::parse(file);
    for (const char* key : {"time_us", "default_us"}) {
        nlohmann::json bad = whole;
        bad["records"][0][key] = 0;
        std::ofstream(directory / "bad.json") << bad;
        CHECK_FALSE(valid(directory / "bad.json"));
    }
    nlohmann::json bad = whole;
    bad["records"][0].erase("silicon");
    std::ofstream(directory / "bad.json") << bad;
    CHECK_FALSE(valid(directory / "bad.json"));
}

TEST_SUITE_END();
