// How far a result is from the reference, and how far it may be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/reference/reference.hpp"

namespace msda {

// Distance of one tensor from its reference.
struct Difference {
    double max_error = 0;  // largest |got − reference|
    double norm_error =
        0;  // ‖got − reference‖ / ‖reference‖; infinite where a non-finite value stands against another value
    std::int64_t worst = -1;  // element of max_error, or the first non-finite mismatch; −1: none differs

    // False for NaN.
    bool within(double tolerance) const { return norm_error <= tolerance; }
};

// Compares `got`, as many elements of `type` as the reference has. Where one side is not finite the other must be the
// same infinity or NaN too (a reference too large for the type counts as its infinity); such elements then leave the
// norms.
Difference compare(const std::vector<double>& reference, Type type, const void* got, int threads = 0);

// Largest norm_error allowed: forward 1e-6 (f32), 5e-4 (f16), 4e-3 (bf16), 1e-13 (f64); gradients 1e-5, 1e-3, 8e-3,
// 1e-12. `type` is the compared tensor's.
double tolerance(Pass pass, Type type);

// One compared tensor of a launch.
struct Verdict {
    std::string tensor;  // "output", "grad_value", "grad_locations", "grad_weights", "grad_references"
    Difference difference;
    double tolerance = 0;
    bool passed = false;
};
// Compares every tensor that the reference holds with the host tensors of a launch.
std::vector<Verdict> verify(const Problem& problem, const ReferenceResult& reference, const Tensors& got,
                            int threads = 0);

}  // namespace msda
