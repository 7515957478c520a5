// The direct scatter of one level of a tile, for footprints too large to do better: four reds a point, and the products g·v of its corners.
#pragma once

#include "sample.cuh"
#include "scatter.cuh"
#include "view.cuh"

namespace msda {

// A point as the block holds it: where it lies, its weight, and this lane's part of its query's grad_output.
template <class T>
struct TilePoint {
    Footprint<float> f;
    float weight;
    Raw<T::vector> row;
};

// The lane groups of a block take `count` points in turn. `point(i)` gives a TilePoint; `store(i, p, s)` takes the four products of point i, in
// one lane of its group; both are called by whole warps with i < count only (further groups of the last round do the first point for nothing).
template <class T, class Shape, class PointOf, class Store>
MSDA_DEVICE void scatter_level(const Shape& shape, int image, int head, int l, int count, const void* value, void* grad_value, PointOf point, Store store) {
    using V = typename T::value_t;
    using G = typename T::grad_t;
    constexpr int per_load = T::vector / static_cast<int>(sizeof(V)), groups = T::threads / T::lanes;
    constexpr bool products = T::grad_location || T::grad_weight;
    const int lane = thread_index() % T::lanes;
    const ValueView<T, Shape> view = {static_cast<const char*>(value) + (image * shape.stride_image() + head * shape.stride_head() + lane * per_load) *
                                                                         static_cast<i64>(sizeof(V)), shape};
    G* const grad = static_cast<G*>(grad_value) + (static_cast<i64>(image) * shape.pixels() * T::heads + head) * T::head_dim + lane * per_load;
#pragma unroll 1
    for (int n = 0; n < (count + groups - 1) / groups; n++) {
        const int i = n * groups + thread_index() / T::lanes;
        TilePoint<T> p = point(i < count ? i : 0);
        const Footprint<float>& f = p.f;
        if (i >= count) p.f.valid = 0;
        float w[4], s[4], g[per_load];
        corner_weights(f.lx, f.ly, p.weight, w);
        Number<V>::unpack(p.row, g);
        const int pixel = shape.start(l) + f.y0 * shape.width(l) + f.x0;
        Raw<T::vector> raw[4];
#pragma unroll
        for (int c = 0; c < 4; c++) {
            raw[c] = Raw<T::vector>{};
            if (products && (f.valid >> c & 1)) raw[c] = load_global<T::vector>(view.at(pixel) + view.corner(c, l));
        }
#pragma unroll
        for (int c = 0; c < 4; c++) {
            float v[per_load], sum[per_load];
            Number<V>::unpack(raw[c], v);
            s[c] = 0;
#pragma unroll
            for (int k = 0; k < per_load; k++) {
                sum[k] = w[c] * g[k];
                s[c] = fused_multiply_add(v[k], g[k], s[c]);
            }
            if (f.valid >> c & 1) red_add<G, per_load>(grad + (pixel + (c & 1) + static_cast<i64>(c >> 1) * shape.width(l)) * (T::heads * T::head_dim), sum);
        }
        if constexpr (products) {
#pragma unroll
            for (int c = 0; c < 4; c++)
#pragma unroll
                for (int k = 1; k < T::lanes; k *= 2) s[c] += shuffle_xor(s[c], k);
            if (lane == 0 && i < count) store(i, p, s);
        }
    }
}

}  // namespace msda
