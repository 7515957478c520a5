// The learner's kernels under ThreadSanitizer: msda-lab-race, a program beside this one that is built with it.
#pragma once

#include "tools/lab/checks.hpp"

namespace msda::lab {

// Runs a kernel of the attempt's source; `arguments` as tools/lab/race/main.cpp takes them. Throws Failed with
// `result`, a sentence on what the kernel computed, and the first report of ThreadSanitizer; notes it in the attempt
// where this build has no msda-lab-race.
void expect_no_race(Attempt& attempt, const std::string& kernel, std::uint32_t blocks, int threads,
                    std::size_t shared_bytes, const std::vector<std::string>& arguments,
                    const std::string& result = "the result is right");

// A struct's bytes as an argument.
std::string struct_argument(const void* bytes, std::size_t count);

}  // namespace msda::lab
