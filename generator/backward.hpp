// Kernels, scratch memory and constants of the backward's three scatter forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/kernels.hpp"

namespace msda {

// What grad_value is summed in: the value's own type (native, or a value that is f32 or f64 already), else an f32
// scratch that a last kernel rounds once. The owned form sums in registers and writes each element once, whatever this
// says.
bool sums_in_scratch(const Problem& problem, const Config& config);

// True when some S pixel belongs to two levels, or to none.
struct Coverage {
    bool overlap = false;
    bool gap = false;
};
Coverage coverage_of(const Problem& problem);

// Visits of (point, corner) that a block of the owned form should not pass by much: about 40 µs of one H200 block.
constexpr std::int64_t visits_a_block = 16384;
// The most that the field `cells` of a config may be.
constexpr int most_cells = 8192;

// Owned form: how level `l` is cut. A block owns `cells` pixels and reads the points of one query chunk; levels with
// few pixels get more chunks, so that blocks have about equal work.
struct Ownership {
    std::vector<std::int64_t> ranges;  // pixel ranges of each level
    std::vector<std::int64_t> chunks;  // query chunks of each level
    std::vector<std::int64_t> first;  // first block of each level, within one (image, head); one more entry: all blocks
    std::vector<std::int64_t>
        plane;  // first f32 pixel of each level's partial sums, within one (image, head); one more entry: all
    bool partial = false;  // sums go to the workspace and a last kernel adds the chunks in order
};
Ownership ownership_of(const Problem& problem, const Config& config);

// Owned form: true when a block keeps all its points at once and writes each pixel as soon as it is summed.
bool owned_once(const Problem& problem, const Config& config);

// Room for all points that the queries have on one level, rounded so that a training's changing Q shares kernels.
int kept_points(const Problem& problem);

std::vector<Kernel> backward_kernels(const Problem& problem, const Config& config);
std::string backward_constants(const Problem& problem, const Config& config);
Scratch backward_scratch(const Problem& problem, const Config& config);

// Dynamic shared memory of a block of the sorted, the owned and the dense form, in bytes.
std::int64_t sorted_shared_bytes(const Problem& problem, const Config& config);
std::int64_t owned_shared_bytes(const Problem& problem, const Config& config);
std::int64_t dense_shared_bytes(const Problem& problem, const Config& config);

}  // namespace msda
