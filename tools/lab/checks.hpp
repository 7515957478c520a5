// What a stage's check is: a function that uses the learner's compiled file and throws Failed where it is wrong. The
// checks compare with the project's double-precision reference and with the emulation's counts, never with a solution.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "msda/msda.hpp"
#include "tools/lab/student_module.hpp"

namespace msda::lab {

// The learner's code is wrong: one sentence with what was expected and what came.
class Failed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The check cannot run on this machine (no NVRTC, no ThreadSanitizer): says why.
class Skipped : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// What a check works with.
struct Attempt {
    const StudentModule& student;
    const std::string& source;              // the composed text
    const std::vector<std::string>& flags;  // it was compiled with
    std::string folder;                     // where the composed files lie
    std::string lab_folder, common_folder;  // of the lab, and of the headers that labs include
    std::vector<std::string> notes{};       // shown below the table: figures worth knowing
};

using Check = void (*)(Attempt&);

// The check of "05/footprint"; throws Error(bad_file) when there is none, which is a fault of the labs.
Check find_check(std::string_view name);

// Throws Failed with this text unless `holds`.
void require(bool holds, const std::string& otherwise);

// A number as messages show it; a NaN has no sign there.
std::string number_text(double number);

// Throws Failed unless |got − expected| ≤ tolerance, or both are the same infinity or NaN. `what` names the place.
void expect_near(const std::string& what, double got, double expected, double tolerance);

}  // namespace msda::lab
