// Is what an operator computes right? Launch on poisoned outputs, read back, compare with the double-precision
// reference. What tests, tuner and command share.
#pragma once

#include <string>
#include <vector>

#include "runtime/compare.hpp"
#include "runtime/verify/device_tensors.hpp"

namespace msda {

// What came of one launch.
struct Verification {
    std::vector<Verdict> verdicts;  // one a tensor; none for an empty problem
    std::string overrun;            // the tensor beside which something was written, or empty

    bool passed() const;
    // The largest over all tensors; 0 without tensors.
    double max_error() const;
    double norm_error() const;
    // Each tensor that failed with its error and tolerance; empty when passed.
    std::string complaint() const;
};

// Poisons the outputs of `tensors` (fitted to the operator's problem, inputs uploaded), launches, waits and compares.
// grad_value of native 16-bit sums, which stall (operator.md), is held to `native_tolerance` only: its error is
// reported. `outputs`, when given, receives the results, in its own memory where that fits. Throws Error(driver_failed)
// when the launch fails.
Verification verify(const Operator& op, DeviceTensors& tensors, const ReferenceResult& reference, int threads = 0,
                    Outputs* outputs = nullptr);

// Norm error that tells a wrong kernel from one whose native sums are merely coarse: both 16-bit types stay below it on
// every shipped shape.
constexpr double native_tolerance = 0.5;

}  // namespace msda
