// docs/reliability.md promises a test for each lesson: the table is complete, and every test that it names exists.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"

namespace fs = std::filesystem;

namespace {

// All that matches the first group of a pattern.
std::vector<std::string> all(const std::string& text, const std::regex& pattern) {
    std::vector<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
        found.push_back((*match)[1]);
    return found;
}

// Names of doctest cases, of the parts that are written over two lines too.
std::set<std::string> test_names() {
    std::set<std::string> names;
    const std::regex cases("TEST_CASE\\(\\s*\"((?:[^\"\\\\]|\\\\.|\"\\s*\")*)\"\\)");
    const std::regex seam("\"\\s*\"");
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(msda::test::source_folder()) / "tests"))
        if (entry.path().extension() == ".cpp")
            for (const std::string& name : all(msda::test::read(entry.path()), cases))
                names.insert(std::regex_replace(name, seam, ""));
    return names;
}

}  // namespace

TEST_SUITE_BEGIN("architecture");

TEST_CASE("docs/reliability.md has one row for each of the 47 lessons, and every test it names exists") {
    const fs::path root = msda::test::source_folder();
    const std::string page = msda::test::read(root / "docs/reliability.md");
    const std::set<std::string> names = test_names();
    CHECK(names.size() > 200);
    std::map<int, int> rows;
    for (const std::string& number : all(page, std::regex("(?:^|\n)\\| ([0-9]+) \\|"))) rows[std::stoi(number)]++;
    for (int lesson = 1; lesson <= 47; ++lesson) CHECK_MESSAGE(rows[lesson] == 1, lesson);
    CHECK(rows.size() == 47);
    // Tests stand in typographic quotes, so that they are told from words of the text; files in backticks.
    const std::vector<std::string> named = all(page, std::regex("“([^”]+)”"));
    CHECK(named.size() >= 47);
    for (const std::string& name : named) CHECK_MESSAGE(names.contains(name), name);
    for (const std::string& file : all(page, std::regex("`((?:tests|tools|python|docs|\\.ci)/[A-Za-z0-9_./-]+)`")))
        CHECK_MESSAGE(fs::exists(root / file), file);
}

TEST_SUITE_END();
