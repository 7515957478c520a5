// Random problems at volume: one compiled kernel (a problem's family and a config) serves many shapes, so that
// thousands of cases cost hundreds of compilations. The same numbers give the same cases on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "msda/msda.hpp"
#include "runtime/inputs.hpp"

namespace msda::volume {

// A kernel to be checked: what its source depends on, the first shape it serves, and the config.
struct KernelCase {
    std::uint64_t seed = 0;
    Problem problem;  // normalised
    Config config;
    std::string source;  // emitted
};

// The kernel of a seed: pass, types, heads, channels, levels, points, sampling, fusion, gradients, accumulator,
// alignment, family or exact (one in five), the default config or (two in three) any of the space. Nothing where the
// seed's problem has no kernel on that silicon.
std::optional<KernelCase> draw_kernel(std::uint64_t seed, const Silicon& silicon);

// A shape that the kernel serves: batch and queries from 0, level sizes from 1, gaps between levels, strides. The
// kernel's own problem for `shape` 0 and for exact kernels. Nothing where no shape was found that leaves the source as
// it is.
std::optional<Problem> draw_shape(const KernelCase& kernel, std::uint64_t shape, const Silicon& silicon);

// Inputs of a case: model-like or uniform locations; some of them on pixel lines and centres and within a pixel of the
// border, on both sides; some NaN, infinite, huge or tiny; some weights negative or zero.
Inputs draw_inputs(const Problem& problem, std::uint64_t seed);

}  // namespace msda::volume
