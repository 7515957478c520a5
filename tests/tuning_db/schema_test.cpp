// schema.json describes exactly what the library writes; judged by Python's jsonschema where that is installed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/paths.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/builtin.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/schema.hpp"

using namespace msda;
using namespace msda::test;

namespace {

std::string root() { return std::string(msda::test::source_folder()); }

nlohmann::json schema() {
    std::ifstream file(root() + "/tuning_db/schema.json");
    return nlohmann::json::parse(file);
}

// The project's own Python where there is one, else the system's.
std::string python() {
    const std::string own = root() + "/.venv/bin/python3";
    return std::filesystem::exists(own) ? own : "python3";
}

// Judges files (blanks in no name) in one Python process, which writes one of "valid" and "refused" a line.
std::vector<std::string> verdicts(const TemporaryDirectory& directory, const std::vector<std::string>& files) {
    std::ofstream(directory / "judge.py")
        << "import json, jsonschema, sys\n"
           "check = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))\n"
           "for file in sys.argv[2:]:\n"
           "    print('valid' if check.is_valid(json.load(open(file))) else 'refused')\n";
    std::string command = python() + " '" + (directory / "judge.py") + "' '" + root() + "/tuning_db/schema.json'";
    for (const std::string& file : files) command += " " + (directory / file);
    REQUIRE(std::system((command + " > " + (directory / "verdicts")).c_str()) == 0);
    std::ifstream stream(directory / "verdicts");
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
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
    if (std::system((python() + " -c 'import jsonschema' 2>/dev/null").c_str()) != 0) {
        MESSAGE("skipped: python3 with jsonschema is not installed");
        return;
    }
    const TemporaryDirectory directory;
    std::vector<std::string> files;
    std::vector<std::string> expected;
    const auto add = [&](const std::string& text, const char* verdict) {
        files.push_back(std::to_string(files.size()) + ".json");
        expected.push_back(verdict);
        std::ofstream(directory / files.back()) << text;
    };
    Database database;
    database.add(record_of(decoder(), h200()));
    database.add(record_of(decoder(900), h200()));
    add(to_text(database), "valid");
    add(to_text({}), "valid");
    for (const auto& file : builtin_databases()) add(std::string(file.text), "valid");

    const nlohmann::json whole = nlohmann::json::parse(to_text(database));
    for (const char* key : {"time_us", "default_us"}) {
        nlohmann::json bad = whole;
        bad["records"][0][key] = 0;
        add(bad.dump(), "refused");
    }
    for (const auto& item : whole["records"][0].items()) {
        if (item.key() == "digest") continue;
        nlohmann::json bad = whole;
        bad["records"][0].erase(item.key());
        add(bad.dump(), "refused");
    }
    CHECK(verdicts(directory, files) == expected);
}

TEST_SUITE_END();
