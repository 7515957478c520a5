// What both owned backwards share: which pixels, level, image, head and queries a block owns, and how a lane group sums listed points.
#pragma once

#include "backward_points.cuh"
#include "block.cuh"

namespace msda {

template <class T, class Shape>
struct OwnedBlock {
    using V = typename T::value_t;
    using A = typename T::acc_t;
    static constexpr int per_load = T::vector / static_cast<int>(sizeof(V));
    static constexpr int groups = T::threads / T::lanes;
    static constexpr int corners = T::sampling == bilinear ? 4 : 1;

    const Shape& shape;
    int slice, image, head, level, chunk;
    int first_pixel, owned;        // the block's pixels, within the level
    int first_query, query_count;  // the block's queries

    MSDA_DEVICE OwnedBlock(const Shape& s, u32 block) : shape(s) {
        const u32 all = static_cast<u32>(s.owned_first(T::levels));
        int at = static_cast<int>(block % all);
        block /= all;
        slice = static_cast<int>(block % T::slices);
        block /= T::slices;
        head = static_cast<int>(block % T::heads);
        image = static_cast<int>(block / T::heads);
        level = 0;
#pragma unroll
        for (int l = 1; l < T::levels; l++)
            if (at >= s.owned_first(l)) level = l;
        at -= s.owned_first(level);
        const int chunks = s.owned_chunks(level), size = s.height(level) * s.width(level);
        chunk = at % chunks;
        first_pixel = at / chunks * T::cells;
        owned = size - first_pixel < T::cells ? size - first_pixel : T::cells;
        const int per_chunk = (s.queries() + chunks - 1) / chunks, left = s.queries() - chunk * per_chunk;
        first_query = chunk * per_chunk;
        query_count = left < 0 ? 0 : left < per_chunk ? left : per_chunk;
    }

    MSDA_DEVICE i64 row_index(int query) const { return (static_cast<i64>(image) * shape.queries() + query) * T::heads + head; }
    MSDA_DEVICE int point_count() const { return query_count * T::points_of(level); }

    // Which owned pixel corner c of a point is, or −1.
    MSDA_DEVICE int owned_pixel(const Footprint<A>& f, int c) const {
        const int pixel = (f.y0 + (c >> 1)) * shape.width(level) + f.x0 + (c & 1) - first_pixel;
        return (f.valid >> c & 1) && pixel >= 0 && pixel < owned ? pixel : -1;
    }
    // The footprint of a point that was kept as its location.
    MSDA_DEVICE Footprint<A> footprint(A x, A y) const {
        ReadPoint<A> p;
        p.x = x, p.y = y, p.active = true;
        return footprint_of<T>(shape, p, level);
    }
    MSDA_DEVICE static A corner_weight(const Footprint<A>& f, int c) {
        if constexpr (corners == 1) return A(1);
        return (c & 1 ? f.lx : A(1) - f.lx) * (c & 2 ? f.ly : A(1) - f.ly);
    }

    // Point number i of those the block reads; past the last one, a point that takes no part.
    MSDA_DEVICE ReadPoint<A> read(int i, const void* locations, const void* weights) const {
        const int per = T::points_of(level);
        if (i >= query_count * per) return {};
        return read_point<T, A>(locations, weights, row_index(first_query + i / per), T::first_point(level) + i % per, true);
    }
    MSDA_DEVICE int query_of_point(int i) const { return first_query + i / T::points_of(level); }

    MSDA_DEVICE int channel(int k) const { return ((slice * T::chunks + k) * T::lanes + thread_index() % T::lanes) * per_load; }
    MSDA_DEVICE bool has(int k) const {
        if constexpr (T::slices * T::chunks * T::lanes * per_load == T::head_dim) return true;
        else return channel(k) < T::head_dim;
    }

    // What a lane group sums: this lane's channels.
    struct Sum {
        A of[T::chunks][per_load];
    };

    // Adds w · grad_output of `count` listed points to `sum`, in their order; `most` is the greatest count among the warp's groups, and
    // visit(n, weight, query) tells of the n-th.
    template <class Visit>
    MSDA_DEVICE void add_listed(int count, int most, const void* grad_output, Sum& sum, Visit visit) const {
#pragma unroll 1
        for (int base = 0; base < most; base += T::lanes) {
            A weight = 0;
            int query = -1;
            if (base + thread_index() % T::lanes < count) visit(base + thread_index() % T::lanes, weight, query);
#pragma unroll
            for (int u = 0; u < (T::lanes < 8 ? T::lanes : 8); u++) add_row(weight, query, u, base + u < most, grad_output, sum);
#pragma unroll 1
            for (int u = 8; u < T::lanes; u++) add_row(weight, query, u, base + u < most, grad_output, sum);
        }
    }
    MSDA_DEVICE void add_row(A weight, int query, int u, bool any, const void* grad_output, Sum& sum) const {
        if (!any) return;
        const A w = shuffle(weight, u, T::lanes);
        const int from = shuffle(query, u, T::lanes);
        if (from < 0) return;
        const char* g = static_cast<const char*>(grad_output) + row_index(from) * T::head_dim * static_cast<i64>(sizeof(V));
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
            if (!has(k)) continue;
            A f[per_load];
            Number<V>::unpack(load_global<T::vector>(g + channel(k) * static_cast<int>(sizeof(V))), f);
#pragma unroll
            for (int i = 0; i < per_load; i++) sum.of[k][i] = fused_multiply_add(w, f[i], sum.of[k][i]);
        }
    }

    // Writes an owned pixel of grad_value, rounded once.
    MSDA_DEVICE void store(int pixel, const Sum& sum, void* grad_value) const {
        const i64 at = (static_cast<i64>(image) * shape.pixels() + shape.start(level) + first_pixel + pixel) * T::heads + head;
#pragma unroll
        for (int k = 0; k < T::chunks; k++)
            if (has(k))
                store_global<T::vector>(static_cast<char*>(grad_value) + (at * T::head_dim + channel(k)) * static_cast<i64>(sizeof(V)),
                                        Number<V>::template pack<T::vector>(sum.of[k]));
    }
};

}  // namespace msda
