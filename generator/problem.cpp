// Validation and sizes of a Problem: every rule of the operator that the host can check in O(L).
#include "msda/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::int64_t largest_count = std::int64_t{1} << 62;

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
    throw Error(Code::invalid_problem, fmt::format(format, std::forward<T>(values)...));
}

void require_at_least(std::int64_t least, std::int64_t got, std::string_view what) {
    if (got < least) refuse("{}: expected at least {}, got {}", what, least, got);
}

// Product of non-negative counts; refuses what passes 2^62, so that bytes never overflow.
std::int64_t count(std::initializer_list<std::int64_t> factors, std::string_view what) {
    std::int64_t product = 1;
    if (std::ranges::find(factors, 0) != factors.end()) return 0;
    for (const std::int64_t factor : factors) {
        if (product > largest_count / factor) refuse("{}: more than 2^62 elements", what);
        product *= factor;
    }
    return product;
}

void normalise_levels(Problem& p) {
    if (p.levels.empty()) refuse("levels: expected at least one level, got none");
    if (p.levels.size() > 4096) refuse("levels: expected at most 4096 levels, got {}", p.levels.size());
    std::int64_t next = 0;
    std::int64_t end = 0;
    for (std::size_t l = 0; l < p.levels.size(); l++) {
        Level& level = p.levels[l];
        require_at_least(1, level.height, fmt::format("height of level {}", l));
        require_at_least(1, level.width, fmt::format("width of level {}", l));
        if (level.height > (1 << 24) || level.width > (1 << 24))
            refuse("size of level {}: expected at most 2^24 a side, got {}x{}", l, level.height, level.width);
        require_at_least(-1, level.start, fmt::format("start of level {}", l));
        if (level.start >= std::numeric_limits<std::int32_t>::max())
            refuse("start of level {}: expected less than 2^31 - 1, got {}", l, level.start);
        if (level.start < 0) level.start = next;
        next = level.start + level.height * level.width;
        end = std::max(end, next);
    }
    if (p.pixels == 0) p.pixels = end;
    for (std::size_t l = 0; l < p.levels.size(); l++) {
        const Level& level = p.levels[l];
        if (level.start + level.height * level.width > p.pixels)
            refuse("level {} ({}x{} at {}) ends at pixel {}: expected at most S = {}", l, level.height, level.width,
                   level.start, level.start + level.height * level.width, p.pixels);
    }
    if (p.pixels >= std::numeric_limits<std::int32_t>::max())
        refuse("S: expected less than 2^31 - 1 pixels, got {}", p.pixels);
}

void normalise_points(Problem& p) {
    if (p.points.size() == 1) p.points.assign(p.levels.size(), p.points.front());
    if (p.points.size() != p.levels.size())
        refuse("points: expected one count for each of {} levels, got {} counts", p.levels.size(), p.points.size());
    std::int64_t total = 0;
    for (const std::int64_t points : p.points) {
        require_at_least(1, points, "points of a level");
        if (points > 65536 - total) refuse("points: expected at most 65536 over all levels, got more");
        total += points;
    }
}

void check_types(Problem& p) {
    const bool quantised = p.value == Type::e4m3;
    if (!quantised && p.output != Type::f32 && p.output != p.value)
        refuse("output type: expected the value's type {}, got {}", name(p.value), name(p.output));
    if (!quantised) p.output = p.value;  // f32 is what nobody set
    if (quantised && p.output != Type::f16 && p.output != Type::bf16)
        refuse("output type with e4m3 values: expected f16 or bf16, got {}", name(p.output));
    if (quantised && p.pass == Pass::backward) refuse("e4m3 values: expected a forward, got a backward");
    const auto check = [&](Type type, std::string_view what) {
        if (type != Type::f32 && (type != p.output || type == Type::e4m3))
            refuse("{} type: expected f32 or the value's type {}, got {}", what, name(p.output), name(type));
    };
    check(p.location, "location");
    check(p.weight, "weight");
}

void check_fusion(const Problem& p) {
    const auto levels = static_cast<std::int64_t>(p.levels.size());
    if (p.reference == Reference::none) {
        if (p.reference_levels != 0 || p.pillars != 0)
            refuse("reference_levels and pillars: expected 0 without references");
        return;
    }
    if (p.reference == Reference::pillars) {
        require_at_least(1, p.pillars, "pillars");
        if (p.reference_levels != 0) refuse("reference_levels: expected 0 with pillars, got {}", p.reference_levels);
    } else {
        if (p.reference_levels != 1 && p.reference_levels != levels)
            refuse("reference_levels: expected 1 or {}, got {}", levels, p.reference_levels);
        if (p.pillars != 0) refuse("pillars: expected 0 with {} references, got {}", name(p.reference), p.pillars);
    }
}

void check_strides(const Problem& p) {
    if (p.dense()) return;
    constexpr std::array<std::string_view, 3> axis = {"image", "pixel", "head"};
    for (std::size_t i = 0; i < 3; i++)
        if (p.value_strides[i] < 0)
            refuse("value stride of {}s: expected at least 0, got {}", axis[i], p.value_strides[i]);
}

}  // namespace

std::int64_t Problem::total_points() const {
    std::int64_t total = 0;
    for (const std::int64_t count_of_level : points) total += count_of_level;
    return total;
}

std::array<std::int64_t, 3> Problem::strides() const {
    if (!dense()) return value_strides;
    return {pixels * heads * head_dim, heads * head_dim, head_dim};
}

bool Problem::encoder_like() const {
    std::int64_t next = 0;
    for (const Level& level : levels) {
        if (level.start != next) return false;
        next += level.height * level.width;
    }
    return next == queries;
}

Problem normalise(Problem p) {
    require_at_least(0, p.batch, "batch");
    require_at_least(0, p.queries, "queries");
    require_at_least(1, p.heads, "heads");
    require_at_least(1, p.head_dim, "head_dim");
    require_at_least(0, p.pixels, "pixels (S)");
    if (p.heads > (1 << 20)) refuse("heads: expected at most 2^20, got {}", p.heads);
    if (p.head_dim > (1 << 20)) refuse("head_dim: expected at most 2^20, got {}", p.head_dim);
    if (p.queries >= std::numeric_limits<std::int32_t>::max())
        refuse("queries: expected less than 2^31 - 1, got {}", p.queries);
    if (p.batch >= std::numeric_limits<std::int32_t>::max())
        refuse("batch: expected less than 2^31 - 1, got {}", p.batch);
    normalise_levels(p);
    normalise_points(p);
    check_types(p);
    check_fusion(p);
    check_strides(p);
    if (p.alignment < 1 || p.alignment > 16 || !std::has_single_bit(static_cast<std::uint64_t>(p.alignment)))
        refuse("alignment: expected 1, 2, 4, 8 or 16 bytes, got {}", p.alignment);
    if (p.pass == Pass::forward) {  // what a forward does not use must not tell two forwards apart
        p.gradients = {};
        p.accumulate = Accumulate::automatic;
    } else if (!p.gradients.value) {
        p.accumulate = Accumulate::automatic;
    }
    (void)sizes(p);
    return p;
}

Sizes sizes(const Problem& p) {
    Sizes s;
    const std::int64_t points = p.total_points();
    (void)count({p.pixels, p.heads, p.head_dim}, "value");  // one image, which dense strides multiply out
    const auto [image, pixel, head] = p.strides();
    if (p.batch > 0) {
        s.value = p.head_dim;
        for (const auto& [steps, stride] :
             {std::pair{p.batch - 1, image}, {p.pixels - 1, pixel}, {p.heads - 1, head}}) {
            const std::int64_t further = count({steps, stride}, "value");
            if (further > largest_count - s.value) refuse("value: more than 2^62 elements");
            s.value += further;
        }
    }
    s.weights = count({p.batch, p.queries, p.heads, points}, "weights");
    s.locations = count({s.weights, 2}, "locations");
    s.output = count({p.batch, p.queries, p.heads, p.head_dim}, "output");
    (void)count({p.batch, p.pixels, p.heads, p.head_dim, 8}, "grad_value");
    switch (p.reference) {
        case Reference::none:
            break;
        case Reference::points:
            s.references = count({p.batch, p.queries, p.reference_levels, 2}, "references");
            break;
        case Reference::boxes:
            s.references = count({p.batch, p.queries, p.reference_levels, 4}, "references");
            break;
        case Reference::pillars:
            s.references = count({p.batch, p.queries, p.pillars, 2}, "references");
            break;
    }
    return s;
}

}  // namespace msda
