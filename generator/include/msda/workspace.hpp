// How much workspace problems of changing sizes can need, told before the sizes are known (TensorRT, ONNX Runtime, memory pools).
#pragma once

#include <cstddef>

#include "msda/config.hpp"
#include "msda/problem.hpp"

namespace [[gnu::visibility("default")]] msda {

// Bytes of workspace that suffice for every problem that differs from `largest` (normalised) only by a batch, queries, pixels and level sizes
// that are no larger, and for any config that can run it. Pure.
std::size_t workspace_bound(const Problem& largest);

// The same for one config, which makes it tighter.
std::size_t workspace_bound(const Problem& largest, const Config& config);

}  // namespace msda
