// The second half of a verification: what a launch left in poisoned outputs, compared with the reference.
#pragma once

#include "runtime/verify/verify.hpp"

namespace msda {

// Copies the outputs of a finished launch to the host and compares there; `outputs` as in verify().
Verification judge(const Problem& problem, const DeviceTensors& tensors, const ReferenceResult& reference,
                   int threads = 0, Outputs* outputs = nullptr);

// The norm error that grad_value of a backward is held to: native 16-bit sums are coarse.
double grad_value_tolerance(const Problem& problem);

}  // namespace msda
