// A point moved inside its map, so that all its corners can be read without a test: base pixel clamped, a weight of 0 where a corner is none.
// An Inf or NaN in a pixel that is no corner then gives NaN (0 · Inf). So whoever sums this way asks all_finite() at the end and, where it
// says no, sums again with sum_carefully(), which reads the corners alone. What is finite is right, and border points cost what others cost.
#pragma once

#include "sample.cuh"
#include "view.cuh"

namespace msda {

// One axis of a point: the first of two neighbouring pixels, how far the point lies towards the second (0 … 1), and how much of the point is
// inside the map: 1, less within a pixel of the border (outside it only one of the two counts), 0 from −1 and the size on and for NaN.
template <class A>
struct Axis {
    A first, along, inside;
};

template <class A>
MSDA_DEVICE Axis<A> axis_of(A im, int size) {
    Axis<A> a;
    a.first = clamp(floor_of(im), A(0), static_cast<A>(size > 1 ? size - 2 : 0));
    a.along = saturate(im - a.first);
    a.inside = smaller(saturate(im + A(1)), saturate(static_cast<A>(size) - im));
    return a;
}

// A point as a lane prepared it for its group.
template <class A, int Corners>
struct InsidePoint;
template <class A>
struct InsidePoint<A, 4> {
    static constexpr int numbers = 3;
    int pixel;      // start + y0·W + x0
    A number[3];    // how far along x; what the upper and the lower two corners weigh together
    MSDA_DEVICE void weights(A* w) const {
        w[1] = number[0] * number[1];
        w[0] = number[1] - w[1];
        w[3] = number[0] * number[2];
        w[2] = number[2] - w[3];
    }
};
template <class A>
struct InsidePoint<A, 1> {
    static constexpr int numbers = 1;
    int pixel;
    A number[1];  // its weight
    MSDA_DEVICE void weights(A* w) const { w[0] = number[0]; }
};

template <class T, class Shape, class A>
MSDA_DEVICE void move_inside(const Shape& shape, const ReadPoint<A>& p, int l, InsidePoint<A, 4>& out) {
    const Axis<A> x = axis_of(image_coordinate(p.x, shape.width(l)), shape.width(l));
    const Axis<A> y = axis_of(image_coordinate(p.y, shape.height(l)), shape.height(l));
    out.pixel = shape.start(l) + static_cast<int>(y.first) * shape.width(l) + static_cast<int>(x.first);
    const A weight = p.weight * (x.inside * y.inside);
    out.number[0] = x.along;
    out.number[2] = y.along * weight;
    out.number[1] = weight - out.number[2];
}
template <class T, class Shape, class A>
MSDA_DEVICE void move_inside(const Shape& shape, const ReadPoint<A>& p, int l, InsidePoint<A, 1>& out) {
    const Footprint<A> f = footprint_of<T>(shape, p, l);
    out.pixel = shape.start(l) + f.y0 * shape.width(l) + f.x0;
    out.number[0] = f.valid ? p.weight : A(0);
}

template <int N, class A>
MSDA_DEVICE bool all_finite(const A* v) {
    A zero = 0;
#pragma unroll
    for (int i = 0; i < N; i++) zero = fused_multiply_add(v[i], A(0), zero);
    return zero == A(0);
}

// The sums of one lane's channels over one part of a row, only corners read; `base` is the lane's first channel of pixel 0.
template <class T, class Shape, class Points, class A>
MSDA_DEVICE void sum_carefully(const Shape& shape, const char* base, i64 row, int part, const Points& points, A* sum) {
    constexpr int per_load = T::vector / static_cast<int>(sizeof(typename T::value_t)), corners = T::sampling == bilinear ? 4 : 1;
    const ValueView<T, Shape> value = {base, shape};
#pragma unroll
    for (int i = 0; i < per_load; i++) sum[i] = 0;
#pragma unroll 1
    for (int p = part; p < T::points; p += T::split) {
        const int l = T::level_of(p);
        const ReadPoint<A> read = points.any(shape, row, p, l);
        const Footprint<A> f = footprint_of<T>(shape, read, l);
        const Prepared<A, corners> point = prepare<T, Shape, A, corners>(shape, read, f, l);
#pragma unroll 1
        for (int c = 0; c < corners; c++) {
            if (!(f.valid >> c & 1)) continue;
            A v[per_load], w = point.weight[0];
#pragma unroll
            for (int k = 1; k < corners; k++) w = c == k ? point.weight[k] : w;
            Number<typename T::value_t>::unpack(load_global<T::vector>(value.at(point.pixel) + value.corner(c, l)), v);
#pragma unroll
            for (int i = 0; i < per_load; i++) sum[i] = fused_multiply_add(w, v[i], sum[i]);
        }
    }
}

}  // namespace msda
