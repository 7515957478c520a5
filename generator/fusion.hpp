// Fused softmax and references. A forward computes them in its own kernel. A backward is the ordinary one of another
// problem, whose weights and locations a kernel before it writes to the workspace, and from whose gradients a kernel
// after it makes those of logits, offsets and references.
#pragma once

#include <cstddef>
#include <vector>

#include "generator/kernels.hpp"

namespace msda {

// True when weights are logits or locations are offsets from references.
bool fused(const Problem& problem);

// The problem that the ordinary kernels of a fused backward solve: what was fused is given, in the type of the sums.
// Any other problem is itself.
Problem unfused(const Problem& problem);

// Bytes of workspace that a fused backward adds; 0 for any other problem. Grows with B and Q.
std::size_t fusion_bytes(const Problem& problem);

// The kernels of unfused(problem), made those of `problem`: their points come from the workspace, behind the
// `workspace_bytes` that they use themselves, and the two further kernels stand around them.
std::vector<Kernel> add_fusion(const Problem& problem, std::vector<Kernel> ordinary, std::size_t workspace_bytes);

// Where the added part of the workspace begins.
std::size_t fusion_begin(std::size_t workspace_bytes);

}  // namespace msda
