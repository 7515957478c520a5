// Checks the stages of one lab, one after another: composes the text that each is judged on, compiles it, and runs the
// check in a process of its own, so that a crash or an endless loop is a verdict like any other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/lab/lab.hpp"
#include "tools/lab/progress.hpp"

namespace msda::lab {

enum class State { passed, failed, not_attempted, skipped };
std::string_view name(State state);

// What came of one stage.
struct Verdict {
    State state = State::not_attempted;
    std::string message;             // of a failure or a skip: one sentence
    std::string log;                 // the compiler's messages, where it did not compile
    std::vector<std::string> notes;  // figures that the check measured
    bool compiles = true;            // false: the message says so, and the log why
};

// How to examine.
struct Examination {
    std::filesystem::path root;  // the folder of all labs
    bool solution = false;       // judge the reference solution instead of the learner's files
    std::string only;            // one stage's name; empty: all
    int limit_s = 120;           // of processor time a check; most take less than one
};

// One verdict a stage, in order; those left out by `only` are not_attempted. A stage is judged with the learner's own
// earlier stages as far as they pass, else with the reference solution's; `stand_ins` gets sentences on those.
// Passed stages are noted in `progress`.
std::vector<Verdict> examine(const Lab& lab, const Examination& how, Progress& progress,
                             std::vector<std::string>& stand_ins);

// The text of a lab's first file with the learner's own sections (the solution's, if `how` says so) and those that it
// takes from earlier labs.
std::string whole_text(const Lab& lab, const Examination& how, const Progress& progress,
                       std::vector<std::string>& stand_ins);

}  // namespace msda::lab
