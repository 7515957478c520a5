// The operator on host memory: threaded, vectorised, with every option of Problem. What Device::cpu() runs.
#pragma once

#include "msda/msda.hpp"

namespace msda {

// Runs the forward or backward of a normalised problem on host tensors and returns when it is done, on at most
// `threads` threads (0: all hardware threads; small problems use fewer). Needs no workspace. grad_references may be
// null where it is not wanted. Results are bit-equal from run to run and for any number of threads; 16-bit sums are
// kept in fp32 (f64 in f64) and rounded once, whatever Problem::accumulate asks. Pointers are taken as checked. Throws
// std::bad_alloc only.
void cpu_launch(const Problem& problem, const Tensors& tensors, int threads = 0);

}  // namespace msda
