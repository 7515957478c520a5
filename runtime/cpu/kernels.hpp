// The CPU path's inner loops, compiled once for each instruction set and chosen at run time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/sampling.hpp"

namespace msda::cpu {

// One launch as the kernels see it.
struct Job {
    const Problem& problem;
    const Tensors& tensors;
    std::vector<host::Place> levels;
    std::int64_t points;                  // ΣP
    std::array<std::int64_t, 3> strides;  // of value: image, pixel, head
};

// Levels [first, last) of one (image, head): the pixels that one task of the value gradient owns.
struct Slice {
    std::int64_t image, head;
    std::size_t first, last;
};

// The loops of one value type. `begin` and `end` count (image, query) pairs. Safe to call at once for disjoint ranges
// or slices.
struct Kernels {
    void (*forward)(const Job& job, std::int64_t begin, std::int64_t end);
    // Gradients of locations, weights and references.
    void (*point_gradients)(const Job& job, std::int64_t begin, std::int64_t end);
    // Adds into the zeroed grad_value; sums of 16-bit types are made in fp32 scratch of the slice's pixels and rounded
    // once.
    void (*value_gradient)(const Job& job, const Slice& slice);
};

Kernels baseline_kernels(Type value);
#if defined(__x86_64__)
Kernels avx2_kernels(Type value);  // needs AVX2, FMA and F16C
#endif

// The fastest set that this processor runs.
Kernels kernels(Type value);

// Everything one row, the points of an (image, query, head), needs on its way; reused from row to row. C is float or
// double.
template <class C>
struct Row {
    Row(std::int64_t points, std::int64_t channels)
        : weight(at(points)),
          location(at(2 * points)),
          offset(at(2 * points)),
          lx(at(points)),
          ly(at(points)),
          valid(at(points)),
          pixel(at(4 * points)),
          corner_weight(at(4 * points)),
          dot(at(4 * points)),
          point_gradient(at(2 * points)),
          weight_gradient(at(points)),
          channel(at(channels)) {}

    std::vector<C> weight, location, offset;  // of each point; offset only with references
    std::vector<C> lx, ly;
    std::vector<unsigned char> valid;  // bit c: corner c takes part
    std::int64_t corners = 0;          // entries of the three lists below: the valid corners, point by point
    std::vector<std::int64_t> pixel;   // on the S axis
    std::vector<C> corner_weight;      // weight · w_c
    std::vector<C> dot;                // g · v_c
    std::vector<C> point_gradient, weight_gradient;
    std::vector<C> channel;  // the row of output or grad_output

  private:
    static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
};

}  // namespace msda::cpu
