// From a sampling location to the pixels it touches: the half-pixel rule, the border rule and the corner weights, once for all kernels.
#pragma once

#include "shape.cuh"

namespace msda {

constexpr int bilinear = 0, nearest = 1, rtdetrv2 = 2, rtdetrv2_square = 3;

// The four (or one) pixels of a point. Corner c is pixel (x0 + c % 2, y0 + c / 2); bit c of `valid` says that it lies inside the map.
// A point that takes no part (−1 < x_im < W fails, NaN included) has no valid corner and x0 = y0 = 0.
template <class A>
struct Footprint {
    int x0, y0;
    A lx, ly;
    u32 valid;
};

// x_im = fma(x, W, −0.5), rounded once; every path and the oracle start from this same number.
template <class A>
MSDA_DEVICE A image_coordinate(A location, int size) {
    return fused_multiply_add(location, static_cast<A>(size), static_cast<A>(-0.5));
}

// Whether a point takes part: false for NaN.
template <class A>
MSDA_DEVICE bool takes_part(A x_im, A y_im, int w, int h) {
    return x_im > A(-1) && x_im < static_cast<A>(w) && y_im > A(-1) && y_im < static_cast<A>(h);
}

template <class A>
MSDA_DEVICE Footprint<A> bilinear_footprint(A x_im, A y_im, int w, int h) {
    Footprint<A> f = {0, 0, 0, 0, 0};
    if (takes_part(x_im, y_im, w, h)) {
        const A fx = floor_of(x_im), fy = floor_of(y_im);
        f.x0 = static_cast<int>(fx);
        f.y0 = static_cast<int>(fy);
        f.lx = x_im - fx;
        f.ly = y_im - fy;
        const u32 columns = (f.x0 >= 0 ? 1u : 0u) | (f.x0 + 1 < w ? 2u : 0u);
        f.valid = (f.y0 >= 0 ? columns : 0u) | (f.y0 + 1 < h ? columns << 2 : 0u);
    }
    return f;
}

// nearest: floor, 0 outside. rtdetrv2: trunc(x·W + 0.5) clamped to the map (`square`: both axes by H − 1, as that model
// does; where the map is narrower than high its own edge still holds, for there the model reads outside).
template <int Sampling, class A>
MSDA_DEVICE Footprint<A> discrete_footprint(A x, A y, int w, int h) {
    Footprint<A> f = {0, 0, 0, 0, 0};
    if constexpr (Sampling == nearest) {
        const A px = floor_of(x * static_cast<A>(w)), py = floor_of(y * static_cast<A>(h));
        if (px >= A(0) && px < static_cast<A>(w) && py >= A(0) && py < static_cast<A>(h)) {
            f.x0 = static_cast<int>(px);
            f.y0 = static_cast<int>(py);
            f.valid = 1;
        }
    } else {
        const A px = fused_multiply_add(x, static_cast<A>(w), A(0.5)), py = fused_multiply_add(y, static_cast<A>(h), A(0.5));
        const int right = (Sampling == rtdetrv2_square && h < w ? h : w) - 1, bottom = h - 1;
        // Clamped while still a floating number, so that no unchecked value is ever converted; NaN takes no part.
        if (px == px && py == py) {
            f.x0 = px <= A(0) ? 0 : px >= static_cast<A>(right) ? right : static_cast<int>(px);
            f.y0 = py <= A(0) ? 0 : py >= static_cast<A>(bottom) ? bottom : static_cast<int>(py);
            f.valid = 1;
        }
    }
    return f;
}

template <class A>
MSDA_DEVICE void corner_weights(A lx, A ly, A scale, A* w) {
    const A top = (A(1) - ly) * scale, bottom = ly * scale;
    w[0] = (A(1) - lx) * top;
    w[1] = lx * top;
    w[2] = (A(1) - lx) * bottom;
    w[3] = lx * bottom;
}

// A point as a lane prepared it for its group: where its first corner lies, what each corner weighs (0 where it is not valid).
template <class A, int Corners>
struct Prepared {
    int pixel;  // start + y0·W + x0, also where that corner is outside the map
    A weight[Corners];
    u32 valid;

    // What lane `s` of this lane's group prepared.
    template <int Lanes>
    MSDA_DEVICE Prepared of_lane(int s) const {
        if constexpr (Lanes == 1) return *this;
        Prepared p;
        p.pixel = shuffle(pixel, s, Lanes);
        p.valid = shuffle(valid, s, Lanes);
#pragma unroll
        for (int c = 0; c < Corners; c++) p.weight[c] = shuffle(weight[c], s, Lanes);
        return p;
    }
};

// A point as it was read: location and weight in the accumulator's type. One that takes no part lies outside every map.
template <class A>
struct ReadPoint {
    A x = A(2), y = A(2), weight = 0;
    bool active = false;
};

// Reads point `p` of row `row`; `active` false reads nothing.
template <class T, class A>
MSDA_DEVICE ReadPoint<A> read_point(const void* locations, const void* weights, i64 row, int p, bool active) {
    ReadPoint<A> out;
    out.active = active;
    if (active) {
        const i64 at = row * T::points + p;
        typename AccumulatorOf<typename T::location_t>::type pair[2];
        load_pair<typename T::location_t, T::alignment>(static_cast<const char*>(locations) + at * 2 * static_cast<i64>(sizeof(typename T::location_t)), pair);
        out.x = static_cast<A>(pair[0]);
        out.y = static_cast<A>(pair[1]);
        out.weight = static_cast<A>(load_number<typename T::weight_t>(static_cast<const char*>(weights) + at * static_cast<i64>(sizeof(typename T::weight_t))));
    }
    return out;
}

// The points of a row as the caller gives them; where fused.cuh computes them, FusedPoints reads them instead.
template <class T>
struct GivenPoints {
    const void *locations, *weights;

    // Point k of this lane, which is p of row `row`, on level l; where there is none (`there` false) it weighs nothing, wherever it lies.
    template <class Shape>
    MSDA_DEVICE ReadPoint<typename T::acc_t> own(const Shape&, i64 row, int, int p, int, bool there) const {
        ReadPoint<typename T::acc_t> out = read_point<T, typename T::acc_t>(locations, weights, row, there ? p : 0, true);
        if (!there) out.weight = 0;
        return out;
    }
    // Any point, after again() has been called by all lanes of the warp.
    template <class Shape>
    MSDA_DEVICE ReadPoint<typename T::acc_t> any(const Shape&, i64 row, int p, int) const {
        return read_point<T, typename T::acc_t>(locations, weights, row, p, true);
    }
    MSDA_DEVICE GivenPoints again(i64, int) const { return *this; }
};

// The level of point `p`, where `first` … `last` are the points that the lanes working side by side may have: a constant if all are on one level,
// one choice if they are on two.
template <class T>
MSDA_DEVICE int level_within(int first, int last, int p) {
    const int from = T::level_of(first), to = T::level_of(last < T::points ? last : T::points - 1);
    if (from == to) return from;
    if (from + 1 == to) return p < T::first_point(to) ? from : to;
    return T::level_of(p);
}

template <class T, class Shape, class A>
MSDA_DEVICE Footprint<A> footprint_of(const Shape& shape, const ReadPoint<A>& p, int l) {
    const int w = shape.width(l), h = shape.height(l);
    Footprint<A> f;
    if constexpr (T::sampling == bilinear) f = bilinear_footprint(image_coordinate(p.x, w), image_coordinate(p.y, h), w, h);
    else f = discrete_footprint<T::sampling>(p.x, p.y, w, h);
    if (!p.active) f.valid = 0;
    return f;
}

template <class T, class Shape, class A, int Corners>
MSDA_DEVICE Prepared<A, Corners> prepare(const Shape& shape, const ReadPoint<A>& p, const Footprint<A>& f, int l) {
    Prepared<A, Corners> out;
    if constexpr (Corners == 4) corner_weights(f.lx, f.ly, p.weight, out.weight);
    else out.weight[0] = p.weight;
    out.valid = f.valid;
    out.pixel = shape.start(l) + f.y0 * shape.width(l) + f.x0;
#pragma unroll
    for (int c = 0; c < Corners; c++)
        if (!(f.valid >> c & 1)) out.weight[c] = 0;
    return out;
}

// Writes the gradients of point `at` that are wanted.
template <class T, class G>
MSDA_DEVICE void store_point(const G& gradient, i64 at, void* grad_locations, void* grad_weights) {
    using Location = typename T::location_t;
    using Weight = typename T::weight_t;
    if constexpr (T::grad_weight) store_number<Weight>(static_cast<char*>(grad_weights) + at * static_cast<i64>(sizeof(Weight)), gradient.weight);
    if constexpr (T::grad_location)
        store_pair<Location, T::alignment>(static_cast<char*>(grad_locations) + 2 * at * static_cast<i64>(sizeof(Location)), gradient.x, gradient.y);
}

}  // namespace msda
