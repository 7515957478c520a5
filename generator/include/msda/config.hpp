// How a problem is computed: the named integers that the tuner searches and the database keeps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "msda/problem.hpp"

namespace [[gnu::visibility("default")]] msda {

// What the generator needs to know of a GPU: its silicon, never its name.
struct Silicon {
    int capability = 90;  // 10·major + minor
    int sm_count = 132;                // streaming multiprocessors
    std::int64_t l2_bytes = 60 << 20;  // of the level-2 cache
    int bus_width = 0;                 // bits; 0: unknown
    int shared_per_block = 227 << 10;  // bytes, opt-in limit
    int shared_per_sm = 228 << 10;     // bytes
    int registers_per_sm = 64 << 10;   // of 32 bits
    int threads_per_sm = 2048;         // resident at once
    std::string partition;  // MIG profile, empty for a whole GPU
    bool operator==(const Silicon&) const = default;
};

// Scatter forms of the backward.
enum Scatter : int {
    scatter_direct = 0,  // four vector reds a point
    scatter_sorted = 1,  // a block bins its queries' points by pixel in shared memory: one red a pixel
    scatter_owned = 2,  // a block owns pixels and pulls the points that touch them: one plain write a pixel, no atomics
    scatter_dense = 3,  // a block's points and pixels as matrix products on tensor cores: one red a pixel
};

// One way to run a problem. Every field is an integer so that a config is a row of a table; 0 is "not used" where a
// field does not apply.
struct Config {
    int tile_width = 16;  // queries a block; with tile_height > 0: columns of a 2-D tile of the query's own level
    int tile_height = 0;  // rows of that tile; 0: queries in memory order
    int heads = 1;        // heads a block, adjacent in a warp
    int lanes = 4;        // lanes that share one (query, head) row; a power of two ≤ 32
    int vector = 16;      // bytes a lane loads at once; a power of two ≤ 16
    int split = 1;        // lane groups that share the points of one (query, head)
    int staging = 0;      // points reach the lanes by 0: shuffles, 1: shared memory
    int unroll = 4;       // points whose loads are issued together
    int min_blocks = 0;   // blocks an SM that the register allocation must allow; 0: the compiler's choice
    int scatter = 0;      // backward: Scatter
    int threads = 256;    // backward, but for direct: threads a block
    int cells = 1024;     // sorted: cells binned at most a pass; owned: pixels a block owns; dense: pixels a product
    int kept = 0;  // owned: points kept in shared memory; those of a block all fit, or 0: as many as fit, over and over
    int levels_per_pass = 1;  // sorted: levels binned together

    bool operator==(const Config&) const = default;
};

// Name and place of each field, in the order of the struct; the database stores configs by these names.
struct ConfigField {
    std::string_view name;  // "tile_width"
    int Config::*member;    // &Config::tile_width
};
std::span<const ConfigField> config_fields();  // every field, in the order of the struct

// "tile_width=16 tile_height=0 …", every field, in order; parse_config reads it back and throws Error(invalid_argument)
// on an unknown, missing or malformed field.
std::string canonical(const Config& config);
Config parse_config(std::string_view text);  // the inverse of canonical()

// Empty when the config can run the problem on that silicon, else one sentence that names the field and its limit.
std::string why_not(const Problem& problem, const Config& config, const Silicon& silicon);

// A good config with no search: what runs when nothing was tuned. Pure; always valid.
Config default_config(const Problem& problem, const Silicon& silicon);

// Every config worth trying, the default first, all valid, no two alike.
std::vector<Config> space(const Problem& problem, const Silicon& silicon);

}  // namespace gnu::visibility("default")]]msda
