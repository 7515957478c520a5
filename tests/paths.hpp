// Where the source tree is and where the build put its programs, and what a file there holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace msda::test {

// The root of the repository.
std::string_view source_folder();
// The folder of the programs built from tests/programs/, NAME.cpp as "msda_test_NAME".
std::string_view program_folder();
// The msda command, or "" in a build without it.
std::string_view tool_path();

// The whole file; empty where there is none.
inline std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace msda::test
