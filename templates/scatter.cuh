// Adding a lane's channels to grad_value in its own type or to an f32 scratch, with the widest hardware red there is.
#pragma once

#include "number.cuh"

namespace msda {

// Adds N sums to N neighbouring elements of type G. 16-bit types: N is even and p aligned to a pair.
template <class G, int N, class A>
MSDA_DEVICE void red_add(G* p, const A* v) {
    if constexpr (sizeof(G) == 8) {
#pragma unroll
        for (int i = 0; i < N; i++) red_f64(p + i, v[i]);
    } else if constexpr (sizeof(G) == 4) {
        if constexpr (N % 4 == 0) {
#pragma unroll
            for (int i = 0; i < N; i += 4) red_f32x4(p + i, v[i], v[i + 1], v[i + 2], v[i + 3]);
        } else if constexpr (N == 2) {
            red_f32x2(p, v[0], v[1]);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) red_f32(p + i, v[i]);
        }
    } else {
        constexpr int bytes = 2 * N;
        const Raw<bytes> r = Number<G>::template pack<bytes>(v);
        red_packed(p, r);
    }
}

template <int Bytes>
MSDA_DEVICE void red_packed(f16* p, const Raw<Bytes>& r) {
    if constexpr (Bytes == 16) {
        red_f16x8(p, r);
    } else {
#pragma unroll
        for (int i = 0; i < Bytes / 4; i++) red_f16x2(p + 2 * i, r.word[i]);
    }
}
template <int Bytes>
MSDA_DEVICE void red_packed(bf16* p, const Raw<Bytes>& r) {
    if constexpr (Bytes == 16) {
        red_bf16x8(p, r);
    } else {
#pragma unroll
        for (int i = 0; i < Bytes / 4; i++) red_bf16x2(p + 2 * i, r.word[i]);
    }
}

// Sums v[i] over the `Lanes` lanes of a group for every i < Lanes, so that lane i ends with the sum of index i: Lanes − 1 shuffles instead of
// Lanes · log2(Lanes). Wider groups than 8 take their 8 values a time: lane i then holds index i % 8.
template <int Lanes, class A>
MSDA_DEVICE A sum_transposed(A* v) {
    constexpr int width = Lanes < 8 ? Lanes : 8;
    const int lane = thread_index() % Lanes;
#pragma unroll
    for (int k = width / 2; k >= 1; k /= 2)
#pragma unroll
        for (int i = 0; i < k; i++) {
            const bool upper = lane & k;
            const A send = upper ? v[i] : v[i + k], keep = upper ? v[i + k] : v[i];
            v[i] = keep + shuffle_xor(send, k);
        }
#pragma unroll
    for (int k = width; k < Lanes; k *= 2) v[0] += shuffle_xor(v[0], k);
    return v[0];
}

// The gradients of one point from the products s_c = g · v_c of its corners (0 where a corner is outside the map).
template <class A>
struct PointGradient {
    A x, y, weight;
};
template <class A>
MSDA_DEVICE PointGradient<A> point_gradient(const A* s, A lx, A ly, A scale, int w, int h) {
    PointGradient<A> g;
    const A top = (A(1) - lx) * s[0] + lx * s[1], bottom = (A(1) - lx) * s[2] + lx * s[3];
    g.weight = (A(1) - ly) * top + ly * bottom;
    g.x = scale * static_cast<A>(w) * ((s[1] - s[0]) * (A(1) - ly) + (s[3] - s[2]) * ly);
    g.y = scale * static_cast<A>(h) * (bottom - top);
    return g;
}

}  // namespace msda
