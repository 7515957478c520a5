// The arrows of docs/architecture.md, checked in the sources: who may include whom, and that no library file writes to
// stdout.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paths.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path root = msda::test::source_folder();

// A folder, the parts it may include, and the third-party headers (prefixes of <...>) it may use besides the standard
// library's.
struct Part {
    std::string_view folder;
    std::vector<std::string_view> parts;
    std::vector<std::string_view> libraries;
};

const std::vector<Part>& parts() {
    static const std::vector<Part> all = {
        {"templates", {"templates"}, {}},
        {"generator/include", {"generator/include"}, {}},
        {"generator", {"generator", "generator/include"}, {"fmt/"}},
        {"tuning_db", {"tuning_db", "generator", "generator/include"}, {"fmt/", "nlohmann/", "xxhash.h"}},
        {"runtime/include", {"runtime/include", "generator/include"}, {}},
        {"runtime",
         {"runtime", "runtime/include", "tuning_db", "generator", "generator/include"},
         {"fmt/", "nlohmann/", "xxhash.h", "cuda.h", "nvrtc.h"}},
        {"tools",
         {"tools", "runtime", "runtime/include", "tuning_db", "generator", "generator/include", "labs"},
         {"fmt/", "nlohmann/", "xxhash.h", "CLI/"}},
        {"examples", {"examples", "runtime/include", "generator/include"}, {}},
        {"python", {"python", "runtime/include", "generator/include"}, {"torch/", "ATen/", "c10/"}},
        {"labs", {"labs", "runtime/include", "generator/include", "templates"}, {"cuda"}},
    };
    return all;
}

const std::vector<std::string_view> third_party = {"fmt/", "nlohmann/", "xxhash.h", "cuda",   "nvrtc",
                                                   "nvml", "CLI/",      "doctest/", "torch/", "ATen/",
                                                   "c10/", "Python.h",  "pybind11", "gtest/", "benchmark/"};

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return text.starts_with(prefix); });
}

// Where the comment or string literal that starts at `at` ends, or `at` when none starts there; raw strings have a
// delimiter or none.
std::size_t skip_noise(std::string_view text, std::size_t at) {
    const std::string_view rest = text.substr(at);
    const auto after = [&](std::string_view end, std::size_t from) {
        const std::size_t found = rest.find(end, from);
        return found == std::string_view::npos ? text.size() : at + found + end.size();
    };
    if (rest.starts_with("//")) return after("\n", 0) - 1;
    if (rest.starts_with("/*")) return after("*/", 2);
    if (rest.starts_with("R\"")) {
        const std::size_t open = rest.find('(');
        return after(fmt::format("){}\"", rest.substr(2, open - 2)), open);
    }
    if (!rest.starts_with('"')) return at;
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    return std::min(at + end + 1, text.size());
}

// The text without comments and string literals.
std::string code_only(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = skip_noise(text, at);
        if (end == at) result += text[at];
        at = std::max(end, at + 1);
    }
    return result;
}

struct Include {
    bool angled;
    std::string name;
};

std::vector<Include> includes(const std::string& text) {
    static const std::regex line(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
    std::vector<Include> result;
    for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
        result.push_back({(*match)[1] == "<", (*match)[2]});
    }
    return result;
}

// The part that a quoted include leads to, or "" when it names no file below an include root. `from` is the including
// part.
std::string part_of(const std::string& include, const Part& from) {
    if (from.folder == "templates") return fs::exists(root / "templates" / include) ? "templates" : "";
    // The learner's files are compiled with these two folders on the include path.
    if (from.folder == "labs" && fs::exists(root / "labs/common" / include)) return "labs";
    if (from.folder == "labs" && fs::exists(root / "templates" / include)) return "templates";
    if (from.folder == "examples" && fs::exists(root / "examples" / include)) return "examples";
    for (std::string_view folder : {"generator/include", "runtime/include"}) {
        if (fs::exists(root / folder / include)) return std::string(folder);
    }
    return fs::exists(root / include) ? include.substr(0, include.find('/')) : "";
}

// What is wrong with the includes of one file of a part; empty when all is well.
std::vector<std::string> wrong_includes(const Part& part, const std::string& text) {
    std::vector<std::string> wrong;
    for (const Include& include : includes(text)) {
        if (include.angled) {
            const bool foreign = starts_with_any(include.name, third_party) || part.folder == "templates";
            if (foreign && !starts_with_any(include.name, part.libraries)) wrong.push_back(include.name);
            continue;
        }
        const std::string target = part_of(include.name, part);
        if (std::find(part.parts.begin(), part.parts.end(), target) == part.parts.end()) wrong.push_back(include.name);
    }
    return wrong;
}

bool writes_to_stdout(const std::string& text) {
    static const std::regex call(
        R"re(\bcout\b|\bstdout\b|\bwrite\s*\(\s*(STDOUT_FILENO|1)\b|\bputs\s*\(|\bputchar\s*\(|\bv?printf\s*\(|\bprint(ln)?\s*\(\s*(?!stderr|std::cerr))re");
    const std::string code = code_only(text);
    static constexpr std::array words = {"cout", "stdout",  "write",
                                         "puts", "putchar", "print"};  // one of them is in whatever matches
    return std::ranges::any_of(words, [&](const char* word) { return code.find(word) != std::string::npos; }) &&
           std::regex_search(code, call);
}

const Part& part_named(std::string_view folder) {
    return *std::find_if(parts().begin(), parts().end(), [&](const Part& part) { return part.folder == folder; });
}

// Source files of a part, without those of a part nested in it.
std::vector<fs::path> files_of(const Part& part) {
    static constexpr std::array extensions = {".cpp", ".hpp", ".cuh", ".cu", ".h", ".c"};
    std::vector<fs::path> result;
    if (!fs::exists(root / part.folder)) return result;
    for (const auto& entry : fs::recursive_directory_iterator(root / part.folder)) {
        const std::string name = entry.path().lexically_relative(root).generic_string();
        const bool nested =
            !part.folder.ends_with("/include") && name.starts_with(fmt::format("{}/include/", part.folder));
        const auto extension = entry.path().extension().string();
        if (entry.is_regular_file() && !nested &&
            std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
            result.push_back(entry.path());
        }
    }
    return result;
}

}  // namespace

TEST_SUITE_BEGIN("architecture");

TEST_CASE("no include points upward") {
    for (const Part& part : parts()) {
        const auto files = files_of(part);
        for (const fs::path& file : files) {
            for (const std::string& include : wrong_includes(part, msda::test::read(file))) {
                FAIL_CHECK(file.string() << " includes " << include << ", which " << part.folder << " may not");
            }
        }
        if (part.folder == "generator" || part.folder == "runtime" || part.folder == "templates") CHECK(!files.empty());
    }
}

TEST_CASE("the library never writes to stdout") {
    for (std::string_view folder : {"generator/include", "generator", "tuning_db", "runtime/include", "runtime"}) {
        for (const fs::path& file : files_of(part_named(folder))) {
            INFO(file.string());
            CHECK_FALSE(writes_to_stdout(msda::test::read(file)));
        }
    }
}

TEST_CASE("public headers start with pragma once and a comment that says what they are for") {
    for (std::string_view folder : {"generator/include", "runtime/include"}) {
        for (const fs::path& file : files_of(part_named(folder))) {
            const std::string text = msda::test::read(file);
            INFO(file.string());
            CHECK((text.starts_with("// ") || text.starts_with("/* ")));
            CHECK((text.find("\n#pragma once\n") != std::string::npos ||
                   text.find("#ifndef MSDA_") != std::string::npos));
        }
    }
}

TEST_CASE("the checks above can fail") {
    const auto wrong = [](std::string_view folder, const std::string& text) {
        return wrong_includes(part_named(folder), text).size();
    };
    CHECK(wrong("generator", "#include \"tuning_db/builtin.hpp\"\n") == 1);
    CHECK(wrong("generator", "#include \"msda/msda.hpp\"\n") == 1);
    CHECK(wrong("generator", "#include <nlohmann/json.hpp>\n#include <vector>\n#include <fmt/core.h>\n") == 1);
    CHECK(wrong("generator", "#include \"generator/plan.hpp\"\n#include \"msda/problem.hpp\"\n") == 0);
    CHECK(wrong("tuning_db", "#include <cuda.h>\n") == 1);
    CHECK(wrong("runtime/include", "  #  include <cuda.h>\n#include <fmt/core.h>\n") == 2);
    CHECK(wrong("runtime", "#include \"tests/main.cpp\"\n#include \"no/such/file.hpp\"\n") == 2);
    CHECK(wrong("templates", "#include <cuda_fp16.h>\n#include <cstdint>\n#include \"arch.cuh\"\n") == 2);

    CHECK(writes_to_stdout("std::cout << 1;"));
    CHECK(writes_to_stdout("std::printf(\"%d\", 1);"));
    CHECK(writes_to_stdout("fmt::print(\"{}\", 1);"));
    CHECK(writes_to_stdout("std::fputs(text, stdout);"));
    CHECK(writes_to_stdout("::write(STDOUT_FILENO, text, 1);"));
    CHECK_FALSE(writes_to_stdout(
        "// std::cout\nfmt::print(stderr, \"stdout {}\", 1); std::snprintf(a, 1, \"\"); fprintf(stderr, \"\");"));
    CHECK_FALSE(writes_to_stdout("/* puts(a) */ auto a = R\"x(puts(\"1\"))x\"; auto b = \"\\\"puts(1)\";"));
    CHECK(writes_to_stdout("auto a = R\"x(()\")x\"; puts(a);"));
}

TEST_SUITE_END();
