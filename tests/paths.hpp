// Where the build put its programs; the source tree is the macro MSDA_TEST_SOURCE_DIR.
#pragma once

#include <string_view>

namespace msda::test {

// The folder of the programs built from tests/programs/, NAME.cpp as "msda_test_NAME".
std::string_view program_folder();
// The msda command, or "" in a build without it.
std::string_view tool_path();

}  // namespace msda::test
