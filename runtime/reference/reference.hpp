// The operator in double precision: what every other path is compared with. x_im is rounded as operator.md says (fp32,
// fp64 for f64 values); all that follows is double.
#pragma once

#include <vector>

#include "msda/msda.hpp"

namespace msda {

// Results as doubles in the order of their tensors; what the problem does not compute stays empty.
struct ReferenceResult {
    std::vector<double> output;           // (B, Q, M, D)
    std::vector<double> grad_value;       // dense (B, S, M, D)
    std::vector<double> grad_locations;   // (B, Q, M, ΣP, 2)
    std::vector<double> grad_weights;     // (B, Q, M, ΣP)
    std::vector<double> grad_references;  // as references
};

// Computes the forward or the backward of a normalised problem from host tensors on `threads` threads (0: all). Only
// the inputs of `tensors` are read; nothing of it is written. Bit-equal for any number of threads.
ReferenceResult compute_reference(const Problem& problem, const Tensors& tensors, int threads = 0);

// The same by the plainest loop over operator.md's formulas, one thread, no code shared: it checks compute_reference on
// small problems.
ReferenceResult compute_naive(const Problem& problem, const Tensors& tensors);

}  // namespace msda
