// Numbers derived from a problem and a config that emission, planning and validation share.
#pragma once

#include <cstdint>
#include <vector>

#include "msda/config.hpp"
#include "msda/problem.hpp"

namespace msda {

// How rows of D channels are cut into loads: lanes × chunks × slices vectors cover the row.
struct Cut {
    int per_load = 0;  // channels a lane loads at once
    int chunks = 0;    // loads a lane keeps sums for
    int slices = 0;    // blocks side by side where lanes × chunks do not cover the row
};
Cut cut_of(const Problem& problem, const Config& config);

// The largest load, in bytes, that the head dimension, the strides and the alignment of a problem allow.
int widest_vector(const Problem& problem);

// True when byte offsets inside one image of value need 64 bits.
bool wide(const Problem& problem);

// 2-D or 1-D query tiles of one image.
struct Tiles {
    std::vector<std::int64_t> first;   // of each level, 2-D only
    std::vector<std::int64_t> across;  // of each level, 2-D only
    std::int64_t total = 0;
};
Tiles tiles_of(const Problem& problem, const Config& config);

// Pixels of the largest level.
std::int64_t largest_level(const Problem& problem);

// Queries a block covers.
int queries_a_block(const Config& config);

// Threads a block of a row-wise kernel (forward, direct backward); 2^31 - 1 where the fields multiply to more.
int row_threads(const Config& config);

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace msda
