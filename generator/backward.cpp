#include "generator/backward.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/geometry.hpp"

namespace msda {
namespace {

std::int64_t value_elements(const Problem& p) { return p.batch * p.pixels * p.heads * p.head_dim; }
int sum_bytes(const Problem& p) { return p.value == Type::f64 ? 8 : 4; }

std::int64_t points_a_pass(const Problem& p, const Config& c) {
    std::int64_t most = 0;
    const auto levels = p.levels.size();
    const auto step = static_cast<std::size_t>(c.levels_per_pass);
    for (std::size_t first = 0; first < levels; first += step) {
        std::int64_t points = 0;
        for (std::size_t l = first; l < std::min(levels, first + step); l++) points += p.points[l];
        most = std::max(most, points);
    }
    return most;
}

std::int64_t row_blocks(const Problem& p, const Config& c) {
    return p.batch * ceil_div(p.heads, c.heads) * tiles_of(p, c).total;
}

std::vector<KernelArgument> arguments(const Slot& grad_value) {
    return {{input_type, {Buffer::value}},
            {input_type, {Buffer::locations}},
            {input_type, {Buffer::weights}},
            {input_type, {Buffer::grad_output}},
            {result_type, grad_value},
            {result_type, {Buffer::grad_locations}},
            {result_type, {Buffer::grad_weights}}};
}

Kernel main_kernel(const Problem& p, const Config& c) {
    Kernel k;
    k.name = "msda_backward";
    const bool scratched =
        sums_in_scratch(p, c) || (c.scatter == scatter_owned && p.gradients.value && ownership_of(p, c).partial);
    k.arguments = arguments({scratched ? Buffer::workspace : Buffer::grad_value});
    const bool points = p.gradients.location || p.gradients.weight;
    if (!p.gradients.value || c.scatter == scatter_direct) {
        k.function = "backward_direct";
        k.file = "backward_points.cuh";
        k.threads = row_threads(c);
        k.blocks = row_blocks(p, c);
    } else if (c.scatter == scatter_sorted) {
        k.function = "backward_sorted";
        k.file = "backward_sorted.cuh";
        k.threads = c.threads;
        k.blocks = p.batch * p.heads * tiles_of(p, c).total;
        k.shared_bytes = sorted_shared_bytes(p, c);
    } else if (c.scatter == scatter_dense) {
        k.function = "backward_dense";
        k.file = "backward_dense.cuh";
        k.threads = c.threads;
        k.blocks = p.batch * p.heads * tiles_of(p, c).total;
        k.shared_bytes = dense_shared_bytes(p, c);
    } else {
        k.function = "backward_owned";
        k.file = "backward_owned.cuh";
        k.threads = c.threads;
        k.blocks =
            p.batch * p.heads * cut_of(p, c).slices * ownership_of(p, c).first.back() + (points ? row_blocks(p, c) : 0);
        k.shared_bytes = owned_shared_bytes(p, c);
    }
    k.min_blocks = c.min_blocks;
    return k;
}

// Elements that one thread of the rounding and adding kernels writes.
constexpr std::int64_t finish_threads = 256;

Kernel round_kernel(const Problem& p) {
    Kernel k;
    k.name = "msda_round";
    k.function = "round_scratch";
    k.file = "finish.cuh";
    k.arguments = {{input_type, {Buffer::workspace}}, {result_type, {Buffer::grad_value}}};
    k.threads = finish_threads;
    // Eight elements a thread; batch, S and so the count are launch arguments of a family kernel, the grid covers them
    // all.
    k.blocks = ceil_div(ceil_div(value_elements(p), 8), finish_threads);
    return k;
}

Kernel add_kernel(const Problem& p) {
    Kernel k = round_kernel(p);
    k.name = "msda_add_chunks";
    k.function = "add_chunks";
    k.blocks = ceil_div(value_elements(p), finish_threads);
    return k;
}

}  // namespace

bool sums_in_scratch(const Problem& p, const Config& c) {
    return p.gradients.value && c.scatter != scatter_owned && p.accumulate != Accumulate::native &&
           bytes_of(p.value) == 2;
}

Coverage coverage_of(const Problem& p) {
    std::vector<const Level*> order;
    for (const Level& level : p.levels) order.push_back(&level);
    std::ranges::sort(order, {}, &Level::start);
    Coverage coverage;
    std::int64_t end = 0;
    for (const Level* level : order) {
        coverage.gap |= level->start > end;
        coverage.overlap |= level->start < end;
        end = std::max(end, level->start + level->height * level->width);
    }
    coverage.gap |= end < p.pixels;
    return coverage;
}

Ownership ownership_of(const Problem& p, const Config& c) {
    const Coverage coverage = coverage_of(p);
    Ownership o;
    o.first = {0};
    o.plane = {0};
    o.partial = coverage.gap || coverage.overlap;
    for (std::size_t l = 0; l < p.levels.size(); l++) {
        const std::int64_t pixels = p.levels[l].height * p.levels[l].width;
        const std::int64_t owned = std::min<std::int64_t>(c.cells, pixels);
        const double visits = 4.0 * static_cast<double>(p.queries * p.points[l]) * static_cast<double>(owned) /
                              static_cast<double>(pixels);
        const std::int64_t most = std::max<std::int64_t>(1, p.queries / 64);
        o.ranges.push_back(ceil_div(pixels, c.cells));
        o.chunks.push_back(c.kept > 0
                               ? 1
                               : std::clamp<std::int64_t>(
                                     static_cast<std::int64_t>(visits / static_cast<double>(visits_a_block)), 1, most));
        o.first.push_back(o.first.back() + o.ranges.back() * o.chunks.back());
        o.plane.push_back(o.plane.back() + pixels * o.chunks.back());
        o.partial |= o.chunks.back() > 1;
    }
    return o;
}

bool owned_once(const Problem& p, const Config& c) {
    return c.scatter == scatter_owned && c.kept > 0 && p.queries * *std::ranges::max_element(p.points) <= c.kept &&
           !ownership_of(p, c).partial;
}

int kept_points(const Problem& p) {
    const std::int64_t points = ceil_div(p.queries * *std::ranges::max_element(p.points), 256) * 256;
    return static_cast<int>(std::min<std::int64_t>(1 << 14, points));
}

std::vector<Kernel> backward_kernels(const Problem& p, const Config& c) {
    if (!p.gradients.value && !p.gradients.location && !p.gradients.weight) return {};
    std::vector<Kernel> all = {main_kernel(p, c)};
    if (sums_in_scratch(p, c)) all.push_back(round_kernel(p));
    if (p.gradients.value && c.scatter == scatter_owned && ownership_of(p, c).partial) all.push_back(add_kernel(p));
    return all;
}

std::string backward_constants(const Problem& p, const Config& c) {
    const bool scratched = sums_in_scratch(p, c);
    const std::string_view grad = p.value == Type::f64 ? "msda::f64" : scratched ? "msda::f32" : "value_t";
    std::string text = fmt::format("    using grad_t = {};\n", grad);
    const auto line = [&](std::string_view type, std::string_view name, std::string value) {
        text += fmt::format("    static constexpr {} {} = {};\n", type, name, value);
    };
    line("bool", "grad_value", fmt::format("{}", p.gradients.value));
    line("bool", "grad_location", fmt::format("{}", p.gradients.location));
    line("bool", "grad_weight", fmt::format("{}", p.gradients.weight));
    line("int", "threads", fmt::format("{}", c.threads));
    line("int", "cells", fmt::format("{}", c.cells));
    line("int", "levels_per_pass", fmt::format("{}", c.levels_per_pass));
    line("int", "pass_points", fmt::format("{}", points_a_pass(p, c)));
    line("int", "most_points", fmt::format("{}", *std::ranges::max_element(p.points)));
    line("int", "kept", fmt::format("{}", c.kept));
    line("bool", "once", fmt::format("{}", owned_once(p, c)));
    line("bool", "partial", fmt::format("{}", c.scatter == scatter_owned && ownership_of(p, c).partial));
    return text;
}

Scratch backward_scratch(const Problem& p, const Config& c) {
    Scratch s;
    if (!p.gradients.value) return s;
    const auto elements = static_cast<std::size_t>(value_elements(p));
    Step zero;
    zero.kind = Step::Kind::zero;
    if (c.scatter == scatter_owned) {
        const Ownership o = ownership_of(p, c);
        if (o.partial)
            s.workspace_bytes = static_cast<std::size_t>(p.batch * p.heads * o.plane.back() * p.head_dim) *
                                static_cast<std::size_t>(sum_bytes(p));
        return s;
    }
    if (sums_in_scratch(p, c)) {
        s.workspace_bytes = elements * sizeof(float);
        zero.target = {Buffer::workspace};
        zero.bytes = s.workspace_bytes;
    } else {
        zero.target = {Buffer::grad_value};
        zero.bytes = elements * bytes_of(p.value);
    }
    s.zeros.push_back(zero);
    return s;
}

// Mirrors the layout of SortedPoints (templates/sorted_points.cuh).
std::int64_t sorted_shared_bytes(const Problem& p, const Config& c) {
    const std::int64_t queries = queries_a_block(c);
    const std::int64_t row = p.head_dim * static_cast<std::int64_t>(bytes_of(p.value));
    const std::int64_t copies = row < 128 ? 128 / row : 1;
    const std::int64_t points = queries * points_a_pass(p, c);
    const std::int64_t words =
        points /*order*/ + (c.cells + 1) /*starts*/ + c.cells /*pixels*/ + 64 /*buckets*/ + 8 * c.levels_per_pass + 36;
    return copies * (queries + 1) * row + points * 32 + 4 * words;
}

// Mirrors TilePoints::shared_bytes (templates/tile_points.cuh) and the layout of BackwardDense.
std::int64_t dense_shared_bytes(const Problem& p, const Config& c) {
    const std::int64_t queries = queries_a_block(c), row = p.head_dim * static_cast<std::int64_t>(bytes_of(p.value));
    const auto levels = static_cast<std::int64_t>(p.levels.size());
    const std::int64_t owners = std::max<std::int64_t>(1, c.threads / queries);
    const std::int64_t each = ceil_div(*std::ranges::max_element(p.points), owners);
    const std::int64_t points = queries * (row + 16) + levels * each * c.threads * 12 + (8 * levels + 2) * 4;
    return ceil_div(points, 128) * 128 + c.cells * (2 * (queries + 8) * 4 + 4);
}

// Mirrors the layouts of OwnedOnce (templates/owned_once.cuh) and OwnedSummed (templates/backward_owned.cuh).
std::int64_t owned_shared_bytes(const Problem& p, const Config& c) {
    const Cut cut = cut_of(p, c);
    const std::int64_t sum = sum_bytes(p);
    if (c.kept > 0) return 3 * c.kept * sum + 4 * (2 * c.cells + 1 + 1 + 32) + 2 * 8 * c.kept;
    const std::int64_t channels = static_cast<std::int64_t>(c.lanes) * cut.chunks * cut.per_load;
    const std::int64_t pitch = channels + (channels % 32 == 0 ? c.lanes : 0);
    const std::int64_t kept = 2 * c.threads;
    const std::int64_t words = 9 * kept /*origin, grouped, ordered*/ + 2 * c.cells + 1 /*starts, cursor*/ + 1 + 32;
    return c.cells * pitch * sum + 3 * kept * sum + 4 * words;
}

}  // namespace msda
