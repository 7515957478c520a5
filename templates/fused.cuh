// Points whose weight is a logit or whose location is an offset from a reference: the softmax over a row's points, and locations rounded step by
// step as every other path rounds them, so that all start from the same x_im.
#pragma once

#include "sample.cuh"

namespace msda {

constexpr int no_reference = 0, reference_points = 1, reference_boxes = 2, reference_pillars = 3;

// a / b, rounded as a division is, for a divisor whose reciprocal is at hand: one product and two fused multiply-adds (Brisebarre, Muller and Raina,
// "Accelerating correctly rounded floating-point division when the divisor is known in advance", 2004). Infinity stays infinity.
template <class A>
MSDA_DEVICE A quotient(A a, int b, A reciprocal) {
    const A q = a * reciprocal, rest = fused_multiply_add(-q, static_cast<A>(b), a);
    return rest == rest ? fused_multiply_add(rest, reciprocal, q) : q;
}

// 1 / size(l), rounded once. Where sizes are constants (the shape of an exact kernel has no members) each level's reciprocal is one too, and l chooses.
template <class A, class T, class Shape, class Size>
MSDA_DEVICE A reciprocal_of(const Shape&, int l, Size size) {
    if constexpr (__is_empty(Shape) && T::levels <= 8) {
        A out = A(1) / static_cast<A>(size(0));
#pragma unroll
        for (int k = 1; k < T::levels; k++) out = l == k ? A(1) / static_cast<A>(size(k)) : out;
        return out;
    } else {
        return A(1) / static_cast<A>(size(l));
    }
}

// The lanes that share a row: `Width` adjacent ones, and `Parts` such groups `Apart` lanes from each other. All 32 lanes of a warp take part.
template <int Width, int Parts = 1, int Apart = Width>
struct RowLanes {
    static constexpr int count = Width * Parts;

    template <class A, class Combine>
    static MSDA_DEVICE A combined(A v, Combine combine) {
#pragma unroll
        for (int step = 1; step < Width; step *= 2) v = combine(v, shuffle_xor(v, step));
#pragma unroll
        for (int step = 1; step < Parts; step *= 2) v = combine(v, shuffle_xor(v, step * Apart));
        return v;
    }
    template <class A>
    static MSDA_DEVICE A sum(A v) {
        return combined(v, [](A a, A b) { return a + b; });
    }
    template <class A>
    static MSDA_DEVICE A greatest(A v) {
        return combined(v, [](A a, A b) { return larger(a, b); });
    }
};

// What turns the logits of one row into weights.
template <class A>
struct Softmax {
    A greatest = 0, inverse = 1;  // greatest logit; 1 / Σ e^(logit − greatest)

    MSDA_DEVICE A weight(A logit) const { return decay_of(logit - greatest) * inverse; }
};

// The points of a problem with fused softmax, references or both, read as GivenPoints (sample.cuh) reads the others. `Lanes`: RowLanes of a row.
template <class T, class Lanes>
struct FusedPoints {
    using A = typename T::acc_t;
    using Location = typename T::location_t;
    using Logit = typename T::weight_t;
    static constexpr int references_a_query = T::reference == reference_pillars ? T::pillars : T::reference_levels;
    static constexpr int components = T::reference == reference_boxes ? 4 : 2;
    static constexpr int each = (T::points + Lanes::count - 1) / Lanes::count;  // points of a lane
    static constexpr bool kept = each <= 8;                                       // so few that their weights stay in registers
    static constexpr int unroll = kept ? each : 1;

    const void *offsets, *logits;  // locations and weights, where they are not fused
    const char* references;        // the query's
    Softmax<A> softmax;
    A weight[kept ? each : 1];

    // For the rows of one query, counted over (image, query).
    MSDA_DEVICE FusedPoints(const void* o, const void* l, const void* r, i64 query)
        : offsets(o), logits(l), references(static_cast<const char*>(r) + query * (references_a_query * components * static_cast<int>(sizeof(Location)))) {}

    MSDA_DEVICE A logit(i64 row, int p) const {
        return static_cast<A>(load_number<Logit>(static_cast<const char*>(logits) + (row * T::points + p) * static_cast<i64>(sizeof(Logit))));
    }
    // Comes before the points of a row are read, by all lanes of the warp; this lane's are `first`, `first` + Lanes::count, …
    MSDA_DEVICE void start(i64 row, int first) {
        if constexpr (!T::softmax) return;
        A most = 0, sum = 0;
#pragma unroll unroll
        for (int k = 0; k < each; k++) {
            const int p = first + k * Lanes::count;
            const A v = logit(row, p < T::points ? p : 0);
            if constexpr (kept) weight[k] = v;
            most = k == 0 ? v : larger(most, v);
        }
        softmax = {Lanes::greatest(most), A(1)};
#pragma unroll unroll
        for (int k = 0; k < each; k++) {
            const int p = first + k * Lanes::count;
            const A e = p < T::points ? softmax.weight(kept ? weight[kept ? k : 0] : logit(row, p)) : A(0);
            if constexpr (kept) weight[k] = e;
            sum += e;
        }
        softmax.inverse = inverse_of(Lanes::sum(sum));
        if constexpr (kept)
#pragma unroll
            for (int k = 0; k < each; k++) weight[k] *= softmax.inverse;
    }
    // The same, ready for any(); what start() left need not stay in registers until here.
    MSDA_DEVICE FusedPoints again(i64 row, int first) const {
        FusedPoints points = *this;
        points.start(row, first);
        return points;
    }

    // Point k of this lane, which is p of the row, on level l; where there is none (`there` false) it weighs nothing, wherever it lies.
    template <class Shape>
    MSDA_DEVICE ReadPoint<A> own(const Shape& shape, i64 row, int k, int p, int l, bool there) const {
        const int at = there ? p : T::points - 1;  // on level l too, the last
        ReadPoint<A> point = T::softmax && kept ? located(shape, row, at, l) : any(shape, row, at, l);
        if constexpr (T::softmax && kept) point.weight = weight[k < each ? k : 0];
        if (!there) point.weight = 0;
        return point;
    }
    // Any point, after start() or again().
    template <class Shape>
    MSDA_DEVICE ReadPoint<A> any(const Shape& shape, i64 row, int p, int l) const {
        ReadPoint<A> point = located(shape, row, p, l);
        point.weight = logit(row, p);
        if constexpr (T::softmax) point.weight = softmax.weight(point.weight);
        return point;
    }

    // Which of its query's references point p of level l uses.
    static MSDA_DEVICE int reference_of(int p, int l) {
        if constexpr (T::reference == reference_pillars) return (p - T::first_point(l)) % T::pillars;
        else return T::reference_levels == 1 ? 0 : l;
    }
    // Reference i: x, y and, of a box, width and height.
    MSDA_DEVICE void load_reference(int i, A* out) const {
        const char* at = references + static_cast<i64>(i) * (components * static_cast<int>(sizeof(Location)));
#pragma unroll
        for (int k = 0; k < components; k += 2) {
            typename AccumulatorOf<Location>::type pair[2];
            load_pair<Location, T::alignment>(at + k * static_cast<int>(sizeof(Location)), pair);
            out[k] = static_cast<A>(pair[0]);
            out[k + 1] = static_cast<A>(pair[1]);
        }
    }
    // ref + off / extent, and of boxes ref + ((off / P) · size) · 0.5.
    template <class Shape>
    MSDA_DEVICE void place(const Shape& shape, int p, int l, ReadPoint<A>& point) const {
        A r[components];
        load_reference(reference_of(p, l), r);
        if constexpr (T::reference == reference_boxes) {
            const A share = reciprocal_of<A, T>(shape, l, T::points_of);
            point.x = fused_multiply_add(quotient(point.x, T::points_of(l), share) * r[2], A(0.5), r[0]);
            point.y = fused_multiply_add(quotient(point.y, T::points_of(l), share) * r[3], A(0.5), r[1]);
        } else {
            point.x = r[0] + over_extent(shape, l, point.x, 0);
            point.y = r[1] + over_extent(shape, l, point.y, 1);
        }
    }
    // v / W or v / H.
    template <class Shape>
    static MSDA_DEVICE A over_extent(const Shape& shape, int l, A v, int axis) {
        const auto extent = [&](int k) { return axis == 0 ? shape.width(k) : shape.height(k); };
        return quotient(v, extent(l), reciprocal_of<A, T>(shape, l, extent));
    }

    // A point without its weight.
    template <class Shape>
    MSDA_DEVICE ReadPoint<A> located(const Shape& shape, i64 row, int p, int l) const {
        ReadPoint<A> point;
        typename AccumulatorOf<Location>::type pair[2];
        load_pair<Location, T::alignment>(static_cast<const char*>(offsets) + (row * T::points + p) * 2 * static_cast<i64>(sizeof(Location)), pair);
        point.x = static_cast<A>(pair[0]);
        point.y = static_cast<A>(pair[1]);
        point.active = true;
        if constexpr (T::reference != no_reference) place(shape, p, l, point);
        return point;
    }
};

}  // namespace msda
