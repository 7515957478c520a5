// Runs a check in a forked process with a limit of processor time and brings its verdict back.
#pragma once

#include "tools/lab/checks.hpp"
#include "tools/lab/examine.hpp"

namespace msda::lab {

// The child shares the parent's memory as it was; what it prints goes where the parent's output goes. The parent must
// have no other thread. Throws Error(io_failed) when no process can be started.
Verdict run_isolated(Check check, Attempt& attempt, int limit_s);

}  // namespace msda::lab
