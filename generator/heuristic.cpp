// The config that runs when nothing was tuned. Its constants come from measurements on an H200; docs/benchmarks has
// them.
#include <algorithm>
#include <bit>
#include <limits>

#include "generator/backward.hpp"
#include "generator/geometry.hpp"
#include "msda/config.hpp"

namespace msda {
namespace {

int power_up(std::int64_t v) {
    return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, v))));
}

// Lanes a row: enough to read it side by side.
int lanes_of(const Problem& p, int vector) {
    return std::min(32, power_up(ceil_div(p.head_dim * static_cast<std::int64_t>(bytes_of(p.value)), vector)));
}

// Heads adjacent in a warp, so that rows shorter than a 128-byte line fill all L1 banks (64-byte rows: 68 -> 57 µs).
int heads_of(const Problem& p, int lanes) {
    const std::int64_t row = p.head_dim * static_cast<std::int64_t>(bytes_of(p.value));
    int heads = 1;
    while (heads * 2 * row <= 128 && p.heads % (heads * 2) == 0 && heads * 2 * lanes <= 32) heads *= 2;
    return heads;
}

// Threads that all rows make, a lane group each.
std::int64_t row_lanes(const Problem& p, int lanes) { return p.batch * p.queries * p.heads * lanes; }

// Whether blocks take rectangles of the query's level.
bool tiled(const Problem& p) { return p.encoder_like() && p.queries >= 1024; }

// Parts that share a row's points: only where rows alone leave the GPU empty (300 queries, batch 4: 14.0 -> 9.4 µs;
// batch 16 on RT-DETR's maps: 19.2 -> 18.1, backward 88 -> 85).
int split_of(const Problem& p, const Config& c, const Silicon& s) {
    const std::int64_t wanted = static_cast<std::int64_t>(s.sm_count) * 2560;
    int split = 1;
    if (tiled(p)) return split;  // neighbours in a tile share rows (50 × 50 pixels: 8.0 µs, 9.6 split in two)
    while (row_lanes(p, c.lanes) * split * 2 <= wanted && split * 2 <= 4 && c.lanes * c.heads * split * 2 <= 32 &&
           p.total_points() >= split * 2 * 2)
        split *= 2;
    return split;
}

// Blocks of about `threads` threads in memory order, or 8×4 tiles of the query's level.
void tile(const Problem& p, Config& c, int threads) {
    const int per_query = c.split * c.heads * c.lanes;
    if (tiled(p)) {
        c.tile_width = 8;
        c.tile_height = std::max(1, threads / per_query / 8);
        if (c.tile_width * c.tile_height * per_query <= 1024) return;
    }
    c.tile_height = 0;
    c.tile_width = std::max(1, threads / per_query);
    while (c.tile_width * per_query % 32 != 0) c.tile_width++;
}

void row_config(const Problem& p, const Silicon& s, Config& c) {
    c.vector = widest_vector(p);
    while (c.vector > static_cast<int>(bytes_of(p.value)) &&
           std::min<std::int64_t>(16, c.vector / static_cast<std::int64_t>(bytes_of(p.value)) *
                                          static_cast<std::int64_t>(bytes_of(p.output))) > p.alignment)
        c.vector /= 2;
    c.lanes = lanes_of(p, c.vector);
    c.heads = heads_of(p, c.lanes);
    c.split = split_of(p, c, s);
}

Config forward_config(const Problem& p, const Silicon& s) {
    Config c;
    row_config(p, s, c);
    const bool large = row_lanes(p, c.lanes) >= static_cast<std::int64_t>(s.sm_count) * 4096;
    tile(p, c, 256);
    if (p.value == Type::f64 || cut_of(p, c).chunks != 1) return c;
    // Points through shared memory, one round at a time: a record takes one L1 wavefront where four shuffles take four
    // (ddetr-enc f32: 146 against 154 µs, f16: 97 against 99). 48 registers but for encoders of 32-bit values, whose
    // random locations like 64 (189 against 196 µs).
    c.staging = c.unroll = 1;
    c.min_blocks = std::min(large && p.value == Type::f32 ? 1024 : 1280, s.threads_per_sm) / row_threads(c);
    // A few points of a few rows: more blocks, each of them less to set up (300 queries of 3 points: 4.1 µs, 4.9).
    if (p.total_points() < c.lanes && row_lanes(p, c.lanes) < static_cast<std::int64_t>(s.sm_count) * 512) {
        tile(p, c, 128);
        c.staging = 0;
        c.min_blocks = std::min(768, s.threads_per_sm) / row_threads(c);
    }
    if (!why_not(p, c, s).empty()) c.staging = 0;
    return c;
}

// Makes the owned form fit the GPU's shared memory.
void fit_cells(const Problem& p, const Silicon& s, Config& c) {
    while (c.cells > 1 && owned_shared_bytes(p, c) > s.shared_per_block) c.cells /= 2;
}

// Pixels a block owns whose sums lie in shared memory: 32 KB of them, so that four blocks share an SM.
int owned_cells(const Problem& p, const Config& c) {
    const Cut cut = cut_of(p, c);
    const std::int64_t row =
        static_cast<std::int64_t>(c.lanes) * cut.chunks * cut.per_load * (p.value == Type::f64 ? 8 : 4);
    return static_cast<int>(std::clamp<std::int64_t>((32 << 10) / row, 1, 256));
}

// Pixels a block of `once` owns: the largest level in equal ranges, so many that the blocks fill whole waves of the GPU
// (two of 512 threads share an SM's registers). Reading and sorting the points cost a block what 2000 pixels cost it
// (ddetr-dec-b4 f16: 43.6 µs with 4200 pixels, 46.1 with 5600, one wave each; 50.2 with 2800, two waves).
int once_cells(const Problem& p, const Silicon& s, Config once) {
    const std::int64_t largest = largest_level(p);
    const std::int64_t on_sm = std::max(1, s.registers_per_sm / (64 * once.threads));
    std::int64_t best = 256, least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t ranges = 1; ceil_div(largest, ranges) >= 256 || ranges == 1; ranges++) {
        const std::int64_t cells = std::max<std::int64_t>(256, ceil_div(largest, ranges));
        once.cells = static_cast<int>(cells);
        if (owned_shared_bytes(p, once) > s.shared_per_block) continue;
        const std::int64_t slots =
            s.sm_count * std::clamp<std::int64_t>(s.shared_per_sm / owned_shared_bytes(p, once), 1, on_sm);
        std::int64_t blocks = 0;
        for (const Level& level : p.levels) blocks += p.batch * p.heads * ceil_div(level.height * level.width, cells);
        const std::int64_t cost = ceil_div(blocks, slots) * (cells + 2000);
        if (cost < least) best = cells, least = cost;
    }
    return static_cast<int>(best);
}

// Few enough points that a block can keep them all: then it reads them once and owns many pixels (ddetr-dec-b4 f16: 45
// µs with 4096 pixels and 512 threads, 70 with 256 threads, 96 with the sums in shared memory).
void keep_all(const Problem& p, const Silicon& s, Config& c) {
    Config once = c;
    once.kept = kept_points(p);
    // 32-bit rows by half the lanes: twice as many pixels side by side (ddetr-dec-b4 f32: 57 µs, 77 by all).
    if (bytes_of(p.value) >= 4 && once.lanes > 1) {
        once.lanes /= 2;
        once.split = split_of(p, once, s);
    }
    tile(p, once, 512);
    once.threads = row_threads(once);
    once.cells = once_cells(p, s, once);
    // 64 registers instead of the 55 that the compiler takes by itself (RT-DETR B=8 bf16: 48 µs, 58; Q=500: 59, 73).
    if (bytes_of(p.value) == 2) once.min_blocks = 2;
    if (!why_not(p, once, s).empty()) once.min_blocks = 0;
    if (owned_once(p, once) && why_not(p, once, s).empty()) c = once;
}

Config owned_config(const Problem& p, const Silicon& s, Config c) {
    c.scatter = scatter_owned;
    c.threads = row_threads(c);
    c.cells = owned_cells(p, c);
    fit_cells(p, s, c);
    keep_all(p, s, c);
    return c;
}

bool can_sort(const Problem& p, const Config& c) {
    const Cut cut = cut_of(p, c);
    return p.value != Type::f64 && p.sampling == Sampling::bilinear && cut.chunks == 1 && cut.slices == 1 &&
           static_cast<std::int64_t>(c.lanes) * cut.per_load == p.head_dim;
}

// Blocks of 128 threads wait least at barriers (ddetr-enc f16 native 407 µs, 517 with 256 threads and 16×8 tiles; f32
// 513 with 8×8 tiles, 537 in memory order), but f32 sums in memory order like many queries a block (six images of 23 ×
// 40 pixels, 5600 queries of 8 points: f16 168 µs with 128 and 512 threads, 300 with 64 and 256; f32 181 and 236).
// `direct` where shared memory is too small for any.
Config sorted_config(const Problem& p, const Silicon& s, const Config& direct) {
    Config c = direct;
    c.scatter = scatter_sorted;
    c.heads = c.split = 1;
    const bool scratch = sums_in_scratch(p, c), f32_sums = p.value == Type::f32 || scratch;
    const bool rectangles = p.encoder_like() && f32_sums;
    if (rectangles) {
        c.threads = scratch ? 256 : 128;
        c.cells = scratch ? 1024 : 512;
        c.tile_width = scratch ? 16 : 8;
        c.tile_height = 8;
    } else {
        c.threads = f32_sums ? 512 : 128;
        c.cells = f32_sums ? 4096 : 512;
        c.tile_width = f32_sums ? 128 : 64;
        c.tile_height = 0;
    }
    c.min_blocks = f32_sums && !scratch ? 0 : std::min(1024, s.threads_per_sm) / c.threads;
    if (!why_not(p, c, s).empty()) c.min_blocks = 0;
    while (!why_not(p, c, s).empty() && c.tile_width > 8) c.tile_width /= 2;
    return why_not(p, c, s).empty() ? c : direct;
}

// Small tiles, so that boxes of pixels stay small and blocks many. Native sums: 4 × 4 queries, whose grad_output stays
// in registers (ddetr-enc f16 242 µs, 262 with 8 × 4; m2f-1024 B=4 373 and 420), of which one level leaves more free
// (bev-tsa 162 µs with 12 blocks an SM, 176 with 10). f32 sums cost twice the reds, which larger tiles share (354 µs;
// 4 × 4: 413). `sorted` where the problem or the GPU has no such form.
Config dense_config(const Problem& p, const Silicon& s, const Config& sorted) {
    const bool native = p.accumulate == Accumulate::native;
    Config c = sorted;
    c.scatter = scatter_dense;
    c.heads = c.split = 1;
    c.tile_width = native ? 4 : 8;
    c.tile_height = 4;
    c.threads = 4 * c.tile_width * c.tile_height;
    c.cells = 64;
    c.min_blocks = std::min(!native ? 896 : p.levels.size() == 1 ? 768 : 640, s.threads_per_sm) / c.threads;
    return p.encoder_like() && why_not(p, c, s).empty() ? c : sorted;
}

// What the sorted form takes, µs on an H200 (4096 queries of 6 and 16 heads on 128 × 128 pixels: native 47 and 98).
double sorted_us(const Problem& p, bool scratch) {
    const auto points = static_cast<double>(p.batch * p.queries * p.heads * p.total_points());
    return 17 + (scratch ? 1.7e-4 : 1.03e-4) * points;
}

// What the direct form takes, µs on an H200: zero-fill, reds and rounding at the measured rates (4.3 and 3.8 TB/s),
// half as much again and 8 for what they do not overlap (f32: ddetr-dec 35, ddetr-dec-b4 69, DINO 900 and 1100 queries
// 56 and 75, five scales 65).
double direct_us(const Problem& p, const Config& c, const Silicon& s) {
    const auto elements = static_cast<double>(p.batch * p.pixels * p.heads * p.head_dim);
    const auto points = static_cast<double>(p.batch * p.queries * p.heads * p.total_points());
    const auto value_bytes = static_cast<double>(bytes_of(p.value));
    const double sum_bytes = sums_in_scratch(p, c) ? 4 : value_bytes;
    const double rounded = sums_in_scratch(p, c) ? elements * (sum_bytes + value_bytes) : 0;
    const double red_rate = s.capability >= 90 ? 3.8e6 : 1e6;  // bytes a µs; older GPUs have no vector reds
    // A lane adds 16 bytes at once; f32 sums of 16-bit rows so reach an L2 sector or two at a time.
    const double parts = sums_in_scratch(p, c) && c.lanes < 4 ? 2 : 1;
    const double reds = points * 4 * static_cast<double>(p.head_dim) * sum_bytes * parts;
    return 8 + 1.5 * ((elements * sum_bytes + rounded) / 4.3e6 + reds / red_rate);
}

// And the owned form: each block reads all points of its image, head and level; every pixel is written once (ddetr-dec
// 50, ddetr-dec-b4 62, DINO 900 and 1100 queries 114 and 170, five scales 140).
double owned_us(const Problem& p) {
    const auto bytes =
        static_cast<double>(p.batch * p.pixels * p.heads * p.head_dim) * static_cast<double>(bytes_of(p.value));
    const auto row = static_cast<double>(p.queries * p.total_points());
    return 10 + 6.1e-3 * row + bytes / 4.3e6 + 5e-5 * row * static_cast<double>(p.batch * p.heads);
}

// Few, fat threads, so that a row's loads and reds are in flight at once.
Config direct_config(const Problem& p, const Silicon& s, Config c) {
    tile(p, c, 64);
    c.min_blocks = cut_of(p, c).chunks == 1 ? std::min(512, s.threads_per_sm) / row_threads(c) : 0;
    return c;
}

Config backward_config(const Problem& p, const Silicon& s) {
    Config c;
    row_config(p, s, c);
    c.threads = 256;
    tile(p, c, 256);
    if (!p.gradients.value) return c;
    // Few points a pixel: add them to zeros, or pull them to their pixels without zero-fill, atomics and rounding.
    // Many: sum them up in the block that reads them.
    const std::int64_t contributions = p.batch * p.queries * p.heads * p.total_points() * 4;
    const bool sparse = contributions <= 4 * p.batch * p.pixels * p.heads;
    const bool no_f64_red = p.value == Type::f64 && s.capability < 60;
    if (p.accumulate == Accumulate::deterministic || no_f64_red) return owned_config(p, s, c);
    if (sparse) {
        // Native 16-bit reds win at any size (ddetr-dec-b4: 36 against 61 µs).
        const bool native = p.accumulate == Accumulate::native && bytes_of(p.value) == 2;
        if (!native && owned_us(p) < direct_us(p, c, s)) return owned_config(p, s, c);
        return direct_config(p, s, c);
    }
    if (!can_sort(p, c)) return c;
    const Config binned = dense_config(p, s, sorted_config(p, s, c));
    const bool better = direct_us(p, c, s) < 0.9 * sorted_us(p, sums_in_scratch(p, binned));
    return binned.scatter == scatter_sorted && better ? direct_config(p, s, c) : binned;
}

}  // namespace

Config default_config(const Problem& p, const Silicon& s) {
    return p.pass == Pass::forward ? forward_config(p, s) : backward_config(p, s);
}

}  // namespace msda
