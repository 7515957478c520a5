// The emulation brings every function that templates/arch.cuh declares, and no other.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/paths.hpp"

namespace {

// Names and first parameter types of all functions marked MSDA_DEVICE.
std::set<std::string> functions(const std::string& text) {
    std::set<std::string> found;
    const std::regex function(R"(MSDA_DEVICE [A-Za-z0-9_<>\* ]*?([a-z0-9_]+)\(([A-Za-z0-9_]*)[^)]*\))");
    for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
        const std::string first = (*it)[2] == "emulation" ? "" : (*it)[2].str();
        found.insert((*it)[1].str() + "(" + first + ")");
    }
    return found;
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("the emulation has the same functions as arch.cuh") {
    const std::filesystem::path root = msda::test::source_folder();
    const auto wanted = functions(msda::test::read(root / "templates/arch.cuh"));
    std::set<std::string> got;
    for (const auto& entry : std::filesystem::directory_iterator(root / "runtime/emulation"))
        if (entry.path().extension() == ".hpp") got.merge(functions(msda::test::read(entry.path())));
    CHECK(wanted.size() > 40);
    CHECK(wanted.count("load_global(const)") == 1);
    for (const std::string& name : wanted) CHECK_MESSAGE(got.count(name) == 1, "missing in runtime/emulation: ", name);
    for (const std::string& name : got) CHECK_MESSAGE(wanted.count(name) == 1, "not in templates/arch.cuh: ", name);
}

TEST_SUITE_END();
