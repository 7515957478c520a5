// The backward, row by row as the forward: for each point the products of grad_output with its corners give the gradients of location and weight,
// and (in the direct form) four vector reds a point add to grad_value. Each lane writes the gradients of the points it prepared: coalesced, once.
#pragma once

#include "sample.cuh"
#include "scatter.cuh"
#include "view.cuh"

namespace msda {

template <class T, class Shape, bool Scatter>
struct BackwardPoints {
    using A = typename T::acc_t;
    using G = typename T::grad_t;  // what grad_value is summed in
    static constexpr int corners = T::sampling == bilinear ? 4 : 1;
    static constexpr int per_load = T::vector / static_cast<int>(sizeof(typename T::value_t));
    static constexpr int steps = (T::points + T::split - 1) / T::split;
    static constexpr int rounds = (steps + T::lanes - 1) / T::lanes;
    static constexpr int octet = T::lanes < 8 ? T::lanes : 8;  // points whose products are summed together
    static constexpr bool products = T::grad_location || T::grad_weight;

    const Shape& shape;
    const Row<T> row;
    ValueView<T, Shape> value;
    const char* grad_output;  // this lane's first channel of the row
    G* grad_value;            // this lane's first channel of pixel 0
    A g[T::chunks][per_load]; // grad_output, where one slice covers the row

    MSDA_DEVICE BackwardPoints(const Shape& s, u32 block, const void* v, const void* go, void* gv) : shape(s), row(s, block), value{nullptr, s} {
        const i64 first = static_cast<i64>(row.image) * s.stride_image() + row.head * s.stride_head() + row.lane * per_load;
        value.base = static_cast<const char*>(v) + first * static_cast<i64>(sizeof(typename T::value_t));
        grad_output = static_cast<const char*>(go) +
                      (row.index(s) * T::head_dim + row.lane * per_load) * static_cast<i64>(sizeof(typename T::value_t));
        grad_value = static_cast<G*>(gv) + (static_cast<i64>(row.image) * s.pixels() * T::heads + row.head) * T::head_dim + row.lane * per_load;
        if constexpr (T::slices == 1) load_row(0);
    }

    // First channel of a chunk, counted from this lane's first one.
    static MSDA_DEVICE int channel(int slice, int chunk) { return (slice * T::chunks + chunk) * T::lanes * per_load; }
    MSDA_DEVICE bool has(int slice, int chunk) const {
        if constexpr (T::slices * T::chunks * T::lanes * per_load == T::head_dim) return true;
        else return channel(slice, chunk) + row.lane * per_load < T::head_dim;
    }
    MSDA_DEVICE void load_row(int slice) {
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
            Raw<T::vector> raw{};
            if (row.active && has(slice, k)) raw = load_global<T::vector>(grad_output + channel(slice, k) * static_cast<int>(sizeof(typename T::value_t)));
            Number<typename T::value_t>::unpack(raw, g[k]);
        }
    }

    // One point: adds w_c · g to grad_value at each corner, and to s[c] this lane's share of g · v_c.
    MSDA_DEVICE void add(int pixel, const A* w, u32 valid, int l, A* s) {
        const char* p = value.at(pixel);
#pragma unroll 1
        for (int slice = 0; slice < T::slices; slice++) {
            if constexpr (T::slices > 1) load_row(slice);
#pragma unroll
            for (int k = 0; k < T::chunks; k++) {
                Raw<T::vector> raw[corners];
#pragma unroll
                for (int c = 0; c < corners; c++) {
                    raw[c] = Raw<T::vector>{};
                    if (products && (valid >> c & 1) && has(slice, k))
                        raw[c] = load_global<T::vector>(p + value.corner(c, l) + channel(slice, k) * static_cast<int>(sizeof(typename T::value_t)));
                }
#pragma unroll
                for (int c = 0; c < corners; c++) {
                    if constexpr (products) {
                        A f[per_load];
                        Number<typename T::value_t>::unpack(raw[c], f);
#pragma unroll
                        for (int i = 0; i < per_load; i++) s[c] = fused_multiply_add(f[i], g[k][i], s[c]);
                    }
                    if constexpr (Scatter) {
                        if ((valid >> c & 1) && has(slice, k)) {
                            A sum[per_load];
#pragma unroll
                            for (int i = 0; i < per_load; i++) sum[i] = w[c] * g[k][i];
                            const i64 to = pixel + (c & 1) + (c >> 1) * static_cast<i64>(shape.width(l));
                            red_add<G, per_load>(grad_value + to * (T::heads * T::head_dim) + channel(slice, k), sum);
                        }
                    }
                }
            }
        }
    }

    MSDA_DEVICE void run_round(int r, const void* locations, const void* weights, void* grad_locations, void* grad_weights) {
        const int p = (r * T::lanes + row.lane) * T::split + row.part;
        const bool mine = row.active && p < T::points;
        const int own = p < T::points ? p : 0;
        const ReadPoint<A> read = read_point<T, A>(locations, weights, row.index(shape), own, mine);
        const int level = level_within<T>(r * T::lanes * T::split, (r + 1) * T::lanes * T::split - 1, own);
        const Footprint<A> f = footprint_of<T>(shape, read, level);
        const Prepared<A, corners> prepared = prepare<T, Shape, A, corners>(shape, read, f, level);
        A sums[corners];
#pragma unroll
        for (int first = 0; first < T::lanes; first += octet) {
            A s[corners][octet];
#pragma unroll
            for (int u = 0; u < octet; u++) {
                A part[corners];
#pragma unroll
                for (int c = 0; c < corners; c++) part[c] = 0;
                const int point = (r * T::lanes + first + u) * T::split;
                if (point < T::points) {
                    const Prepared<A, corners> given = prepared.template of_lane<T::lanes>(first + u);
                    add(given.pixel, given.weight, given.valid, level_within<T>(point, point + T::split - 1, point + row.part), part);
                }
#pragma unroll
                for (int c = 0; c < corners; c++) s[c][u] = part[c];
            }
            if constexpr (products) {
#pragma unroll
                for (int c = 0; c < corners; c++) {
                    const A total = sum_transposed<T::lanes>(s[c]);
                    if (T::lanes <= octet || row.lane / octet == first / octet) sums[c] = total;
                }
            }
        }
        if constexpr (products) {
            if (mine) store<corners>(sums, f, read.weight, level, row.index(shape) * T::points + p, grad_locations, grad_weights);
        }
    }

    template <int Corners>
    MSDA_DEVICE void store(const A* s, const Footprint<A>& f, A scale, int l, i64 at, void* grad_locations, void* grad_weights) const {
        PointGradient<A> out = {0, 0, 0};
        if constexpr (Corners == 4) {
            if (f.valid) out = point_gradient(s, f.lx, f.ly, scale, shape.width(l), shape.height(l));
        } else {
            if (f.valid) out.weight = s[0];
        }
        store_point<T>(out, at, grad_locations, grad_weights);
    }

    MSDA_DEVICE void run(const void* locations, const void* weights, void* grad_locations, void* grad_weights) {
        if constexpr (steps <= 64) {
#pragma unroll
            for (int r = 0; r < rounds; r++) run_round(r, locations, weights, grad_locations, grad_weights);
        } else {
#pragma unroll 1
            for (int r = 0; r < rounds; r++) run_round(r, locations, weights, grad_locations, grad_weights);
        }
    }
};

// The direct form, and (with grad_value masked out) the gradients of locations and weights alone.
template <class T, class Shape>
MSDA_DEVICE void backward_direct(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                 void* grad_value, void* grad_locations, void* grad_weights) {
    BackwardPoints<T, Shape, T::grad_value> b(shape, block_index(), value, grad_output, grad_value);
    b.run(locations, weights, grad_locations, grad_weights);
}

}  // namespace msda
