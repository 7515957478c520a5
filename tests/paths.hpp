// Where the source tree is, and where the build put its programs.
#pragma once

#include <string_view>

namespace msda::test {

// The root of the repository.
std::string_view source_folder();
// The folder of the programs built from tests/programs/, NAME.cpp as "msda_test_NAME".
std::string_view program_folder();
// The msda command, or "" in a build without it.
std::string_view tool_path();

}  // namespace msda::test
