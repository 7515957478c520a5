// The double-precision device oracle of a problem: source and plan, in the same form as a config's kernels.
#pragma once

#include <string>

#include "generator/plan.hpp"
#include "msda/problem.hpp"

namespace msda {

// Source of the oracle's kernels (templates/oracle.cuh), as emit() gives a config's.
std::string emit_oracle(const Problem& problem);

// Steps of the oracle. Every result (output, or grad_value, grad_locations and grad_weights, all three whatever the
// mask) is an array of double of the tensor's shape; no workspace.
Plan oracle_plan(const Problem& problem);

}  // namespace msda
