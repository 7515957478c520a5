// Which configs a problem and a GPU allow; each refusal names the field, its limit and what came.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "generator/backward.hpp"
#include "generator/geometry.hpp"
#include "generator/kernels.hpp"
#include "msda/config.hpp"

namespace msda {
namespace {

bool power_of_two(int v) { return v > 0 && std::has_single_bit(static_cast<unsigned>(v)); }

std::string range(std::string_view field, int value, int least, int most) {
    if (value >= least && value <= most) return {};
    return fmt::format("{}: expected {} to {}, got {}", field, least, most, value);
}

std::string field_limits(const Config& c) {
    const auto power = [](std::string_view field, int value, int most) {
        if (power_of_two(value) && value <= most) return std::string();
        return fmt::format("{}: expected a power of two up to {}, got {}", field, most, value);
    };
    for (const std::string& why :
         {range("tile_width", c.tile_width, 1, 1024), range("tile_height", c.tile_height, 0, 64),
          range("heads", c.heads, 1, 32), power("lanes", c.lanes, 32), power("vector", c.vector, 16),
          power("split", c.split, 32), range("staging", c.staging, 0, 1), range("unroll", c.unroll, 1, 16),
          range("min_blocks", c.min_blocks, 0, 32), range("scatter", c.scatter, 0, 3),
          range("threads", c.threads, 32, 1024), range("cells", c.cells, 1, most_cells),
          range("kept", c.kept, 0, 16384), range("levels_per_pass", c.levels_per_pass, 1, 16)})
        if (!why.empty()) return why;
    return {};
}

std::string vector_limits(const Problem& p, const Config& c) {
    const int size = static_cast<int>(bytes_of(p.value));
    if (c.vector < size) return fmt::format("vector: expected at least the value's {} bytes, got {}", size, c.vector);
    if (c.vector > widest_vector(p))
        return fmt::format("vector: expected at most {} bytes (head_dim, strides and alignment allow no more), got {}",
                           widest_vector(p), c.vector);
    const std::int64_t out = c.vector / size * static_cast<std::int64_t>(bytes_of(p.output));
    if (std::min<std::int64_t>(out, 16) > p.alignment && out > static_cast<std::int64_t>(bytes_of(p.output)))
        return fmt::format("vector: expected stores within the alignment of {} bytes, got {}", p.alignment, out);
    return {};
}

std::string thread_limits(const Config& c, int threads) {
    if (threads % 32 != 0 || threads > 1024)
        return fmt::format(
            "threads a block: expected a multiple of 32 up to 1024, got {} (tile × split × heads × lanes)", threads);
    if (c.split > 1 && (c.lanes * c.heads * c.split > 32 || !power_of_two(c.heads)))
        return fmt::format("split: expected lanes × heads × split within one warp, a power of two, got {}",
                           c.lanes * c.heads * c.split);
    return {};
}

std::string silicon_limits(const Kernel& k, const Silicon& s) {
    if (k.shared_bytes > s.shared_per_block)
        return fmt::format("{}: expected at most {} bytes of shared memory a block, got {}", k.name, s.shared_per_block,
                           k.shared_bytes);
    if (k.threads * k.min_blocks > s.threads_per_sm)
        return fmt::format("min_blocks: expected at most {} threads an SM, got {}", s.threads_per_sm,
                           k.threads * k.min_blocks);
    if (k.shared_bytes * k.min_blocks > s.shared_per_sm)
        return fmt::format("min_blocks: expected at most {} bytes of shared memory an SM, got {}", s.shared_per_sm,
                           k.shared_bytes * k.min_blocks);
    return {};
}

bool power_row(const Problem& p, const Config& c) {
    const Cut cut = cut_of(p, c);
    return cut.chunks == 1 && cut.slices == 1 && static_cast<std::int64_t>(c.lanes) * cut.per_load == p.head_dim;
}

std::string native_limits(const Problem& p, const Config& c, const Silicon& s) {
    if (p.value == Type::f64 && s.capability < 60)
        return "accumulator: f64 sums need sm_60 or newer (no hardware f64 add before), or the owned form";
    if (p.accumulate != Accumulate::native || bytes_of(p.value) != 2) return {};
    if (p.value == Type::bf16 && s.capability < 90)
        return fmt::format(
            "accumulator: native bf16 needs sm_90 or newer (older GPUs have no hardware bf16 add), got sm_{}",
            s.capability);
    if (s.capability < 60) return fmt::format("accumulator: native f16 needs sm_60 or newer, got sm_{}", s.capability);
    if (c.vector < 4) return "accumulator: native 16-bit sums need an even head_dim and tensors aligned to 4 bytes";
    return {};
}

std::string dense_limits(const Problem& p, const Config& c, const Silicon& s) {
    if (s.capability < 80) return fmt::format("scatter: the dense form needs sm_80 or newer, got sm_{}", s.capability);
    if (bytes_of(p.value) != 2 || p.sampling != Sampling::bilinear || p.head_dim != 32 || c.vector != 16 ||
        c.lanes != 4)
        return "scatter: the dense form is for bilinear sampling of f16 and bf16 values with 32 channels, read by 4 "
               "lanes";
    const int queries = queries_a_block(c);
    if (!power_of_two(queries) || queries < 16 || queries > 256)
        return fmt::format("scatter: expected 16 to 256 queries a block in the dense form, a power of two, got {}",
                           queries);
    if (c.threads != queries && c.threads != 2 * queries && c.threads != 4 * queries)
        return fmt::format("threads: expected 1, 2 or 4 times the {} queries of a block in the dense form, got {}",
                           queries, c.threads);
    if (c.threads % 32 != 0 || c.cells % 16 != 0)
        return fmt::format("cells, threads: expected multiples of 16 and 32 in the dense form, got {} and {}", c.cells,
                           c.threads);
    if (const std::int64_t most = *std::ranges::max_element(p.points); most > 16)
        return fmt::format("scatter: expected at most 16 points a level in the dense form, got {}", most);
    return {};
}

std::string backward_limits(const Problem& p, const Config& c, const Silicon& s) {
    if (!p.gradients.value)
        return c.scatter == scatter_direct ? std::string() : "scatter: expected 0 where grad_value is not computed";
    if (p.accumulate == Accumulate::deterministic && c.scatter != scatter_owned)
        return fmt::format("scatter: expected {} (owned) for deterministic sums, got {}", +scatter_owned, c.scatter);
    if (c.scatter == scatter_owned) {
        if (c.kept > 0 && !owned_once(p, c))
            return fmt::format(
                "kept: expected at least the {} points of the queries on one level, and levels that cover S once, got "
                "{}",
                p.queries * *std::ranges::max_element(p.points), c.kept);
        if ((p.gradients.location || p.gradients.weight) && row_threads(c) != c.threads)
            return fmt::format("threads: expected tile × split × heads × lanes = {} in the owned form, got {}",
                               row_threads(c), c.threads);
        return c.threads % 32 == 0 ? std::string()
                                   : fmt::format("threads: expected a multiple of 32, got {}", c.threads);
    }
    if (c.scatter == scatter_dense)
        if (std::string why = dense_limits(p, c, s); !why.empty()) return why;
    if (c.scatter == scatter_sorted) {
        if (p.value == Type::f64 || p.sampling != Sampling::bilinear)
            return "scatter: the sorted form is for bilinear sampling of 32- and 16-bit values";
        if (!power_row(p, c)) return "scatter: the sorted form needs lanes × vector to cover head_dim exactly";
        if (c.threads % 32 != 0) return fmt::format("threads: expected a multiple of 32, got {}", c.threads);
        if (queries_a_block(c) * p.total_points() > 1 << 15)
            return "scatter: expected at most 32768 points a block in the sorted form";
    }
    return native_limits(p, c, s);
}

}  // namespace

std::string why_not(const Problem& p, const Config& c, const Silicon& s) {
    if (std::string why = field_limits(c); !why.empty()) return why;
    if (std::string why = vector_limits(p, c); !why.empty()) return why;
    const bool rows = p.pass == Pass::forward || (c.scatter != scatter_sorted && c.scatter != scatter_dense);
    if (rows)
        if (std::string why = thread_limits(c, row_threads(c)); !why.empty()) return why;
    if (c.tile_height > 0 && !p.encoder_like())
        return "tile_height: expected 0, for the queries are not the pixels of the levels";
    if (p.pass == Pass::backward)
        if (std::string why = backward_limits(p, c, s); !why.empty()) return why;
    if (p.empty()) return {};
    for (const Kernel& kernel : kernels(p, c))
        if (std::string why = silicon_limits(kernel, s); !why.empty()) return why;
    return {};
}

}  // namespace msda
