// From a sampling location to the pixels it touches, on the host: what the CPU path and the double-precision reference
// share, so that both start from the same rounded x_im (operator.md, "Conventions"). The naive loop that checks the
// reference spells it out again.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "msda/problem.hpp"

namespace msda::host {

// A level with its share of the ΣP axis.
struct Place {
    std::int64_t height = 0, width = 0, start = 0;
    std::int64_t first_point = 0, points = 0;
};
// One place a level of a normalised problem.
std::vector<Place> places(const Problem& problem);

// Components of one reference (2 or 4), and how many references a query has (L or 1, or Z).
std::int64_t reference_components(const Problem& problem);
std::int64_t references_per_query(const Problem& problem);

// Which of its query's references point p of level l (p counted within the level) uses.
inline std::int64_t reference_of(const Problem& problem, std::int64_t l, std::int64_t p) {
    if (problem.reference == Reference::pillars) return p % problem.pillars;
    return problem.reference_levels == 1 ? 0 : l;
}

// One coordinate of a location from its reference, offset and, for boxes, the box's size along the axis. Every
// operation rounds to C in the order written, as the kernels do: ref + off / extent; ref + ((off / P) · size) · 0.5.
template <class C>
C location_of(C reference, C offset, std::int64_t extent) {
    return reference + offset / static_cast<C>(extent);
}
template <class C>
C box_location_of(C centre, C size, C offset, std::int64_t points) {
    return centre + offset / static_cast<C>(points) * size * C(0.5);
}

// The number that decides on the pixels, rounded once to C: x·W − 0.5, x·W or x·W + 0.5.
template <class C>
C image_coordinate(Sampling sampling, C location, std::int64_t extent) {
    const C size = static_cast<C>(extent);
    if (sampling == Sampling::nearest) return location * size;
    return std::fma(location, size, sampling == Sampling::bilinear ? C(-0.5) : C(0.5));
}

// The four pixels (x0 + c % 2, y0 + c / 2) of a bilinear point, or the one of a discrete point; bit c of `valid` says
// that corner c takes part. No bit is set, and no float was converted to an integer, where the point takes no part.
template <class A>
struct Footprint {
    std::int64_t x0 = 0, y0 = 0;
    A lx = 0, ly = 0;
    unsigned valid = 0;
};

// Inlined by force, so that floor is one instruction where the caller's instruction set has it.
template <class A>
[[gnu::always_inline]] inline Footprint<A> bilinear_footprint(A x, A y, const Place& level) {
    Footprint<A> f;
    if (!(x > A(-1) && x < static_cast<A>(level.width) && y > A(-1) && y < static_cast<A>(level.height))) return f;
    const A left = std::floor(x), top = std::floor(y);
    f.x0 = static_cast<std::int64_t>(left);
    f.y0 = static_cast<std::int64_t>(top);
    f.lx = x - left;
    f.ly = y - top;
    const unsigned columns = (f.x0 >= 0 ? 1u : 0u) | (f.x0 + 1 < level.width ? 2u : 0u);
    f.valid = (f.y0 >= 0 ? columns : 0u) | (f.y0 + 1 < level.height ? columns << 2 : 0u);
    return f;
}

// trunc(v) clamped to [0, last]; v is not NaN.
template <class A>
std::int64_t clamped(A v, std::int64_t last) {
    if (v <= A(0)) return 0;
    return v >= static_cast<A>(last) ? last : static_cast<std::int64_t>(v);
}

template <class A>
Footprint<A> discrete_footprint(Sampling sampling, A x, A y, const Place& level) {
    Footprint<A> f;
    if (sampling == Sampling::nearest) {
        if (!(x >= A(0) && x < static_cast<A>(level.width) && y >= A(0) && y < static_cast<A>(level.height))) return f;
        f.x0 = static_cast<std::int64_t>(x);
        f.y0 = static_cast<std::int64_t>(y);
        f.valid = 1;
        return f;
    }
    if (x != x || y != y) return f;
    // That model clamps x by H − 1 as well, which reads past a map taller than wide: there W − 1 keeps it inside.
    const bool square = sampling == Sampling::rtdetrv2_square && level.height < level.width;
    f.x0 = clamped(x, (square ? level.height : level.width) - 1);
    f.y0 = clamped(y, level.height - 1);
    f.valid = 1;
    return f;
}

template <class A>
Footprint<A> footprint(Sampling sampling, A x, A y, const Place& level) {
    return sampling == Sampling::bilinear ? bilinear_footprint(x, y, level) : discrete_footprint(sampling, x, y, level);
}

// w_c of corner c: the product of the point's distances to the opposite corner; 1 for a discrete point.
template <class A>
A corner_weight(Sampling sampling, const Footprint<A>& f, int c) {
    if (sampling != Sampling::bilinear) return A(1);
    return (c & 1 ? f.lx : A(1) - f.lx) * (c & 2 ? f.ly : A(1) - f.ly);
}

}  // namespace msda::host
