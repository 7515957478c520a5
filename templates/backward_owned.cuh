// The backward with owned pixels: a block owns a range of pixels of one level, image and head, reads through the points of its query chunk, keeps
// those that touch its pixels, and sums them pixel by pixel in a fixed order. Each element of grad_value is written once: no zero-fill, no
// atomics, no scratch, and bit-equal results. Best where points are few (decoders), and the deterministic form everywhere. Levels with many points
// a pixel are cut into query chunks whose partial sums add_chunks (finish.cuh) adds in order. The gradients of locations and weights are the
// business of the grid's other blocks, which work row by row.
#pragma once

#include "backward_points.cuh"
#include "block.cuh"

namespace msda {

template <class T, class Shape>
struct BackwardOwned {
    using V = typename T::value_t;
    using A = typename T::acc_t;
    static constexpr int per_load = T::vector / static_cast<int>(sizeof(V));
    static constexpr int channels = T::lanes * T::chunks * per_load;                    // a block's slice of D
    static constexpr int pitch = channels + (channels % 32 == 0 ? T::lanes : 0);        // groups of a warp hit different banks
    static constexpr int groups = T::threads / T::lanes, warp_groups = 32 / T::lanes;
    static constexpr int corners = T::sampling == bilinear ? 4 : 1;
    static constexpr int capacity = 2 * T::threads;                                      // points kept at once

    const Shape& shape;
    int slice, image, head, level, chunk;
    int first_pixel, owned;         // the block's pixels, within the level
    int first_query, query_count;   // the block's queries
    A* sums;        // [owned][pitch]
    A* kept;        // [3][capacity]: x, y, weight of each kept point
    int* origin;    // its number among the points that the block reads: the order of summation
    int* grouped;   // items (kept point · 4 + corner) grouped by pixel, in any order
    int* ordered;   // and by origin
    int* starts;    // first item of each owned pixel
    int* cursor;    // items of each pixel grouped so far
    int* counter;   // points kept
    int* partial;

    MSDA_DEVICE BackwardOwned(const Shape& s, u32 block) : shape(s) {
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
        sums = reinterpret_cast<A*>(shared_memory());
        kept = sums + T::cells * pitch;
        origin = reinterpret_cast<int*>(kept + 3 * capacity);
        grouped = origin + capacity;
        ordered = grouped + 4 * capacity;
        starts = ordered + 4 * capacity;
        cursor = starts + T::cells + 1;
        counter = cursor + T::cells;
        partial = counter + 1;
    }

    MSDA_DEVICE i64 row_index(int query) const { return (static_cast<i64>(image) * shape.queries() + query) * T::heads + head; }

    // Which owned pixel corner c of a point is, or −1.
    MSDA_DEVICE int owned_pixel(const Footprint<A>& f, int c) const {
        const int pixel = (f.y0 + (c >> 1)) * shape.width(level) + f.x0 + (c & 1) - first_pixel;
        return (f.valid >> c & 1) && pixel >= 0 && pixel < owned ? pixel : -1;
    }
    MSDA_DEVICE Footprint<A> footprint(int k) const {
        ReadPoint<A> p;
        p.x = load_shared(kept + k), p.y = load_shared(kept + capacity + k), p.active = true;
        return footprint_of<T>(shape, p, level);
    }

    MSDA_DEVICE void clear_counts() {
        for (int i = thread_index(); i <= T::cells; i += T::threads) store_shared(starts + i, 0);
        for (int i = thread_index(); i < T::cells; i += T::threads) store_shared(cursor + i, 0);
        if (thread_index() == 0) store_shared(counter, 0);
    }

    MSDA_DEVICE ReadPoint<A> read(int i, const void* locations, const void* weights) const {
        const int per = T::points_of(level);
        if (i >= query_count * per) return {};
        return read_point<T, A>(locations, weights, row_index(first_query + i / per), T::first_point(level) + i % per, true);
    }

    // Keeps the point if it touches an owned pixel, and counts its corners.
    MSDA_DEVICE void keep(const ReadPoint<A>& p, int number) {
        const Footprint<A> f = footprint_of<T>(shape, p, level);
        bool touches = false;
#pragma unroll
        for (int c = 0; c < corners; c++) {
            const int pixel = owned_pixel(f, c);
            if (pixel < 0) continue;
            touches = true;
            shared_add(starts + pixel, 1);
        }
        if (!touches) return;
        const int k = shared_add(counter, 1);
        store_shared(kept + k, p.x);
        store_shared(kept + capacity + k, p.y);
        store_shared(kept + 2 * capacity + k, p.weight);
        store_shared(origin + k, number);
    }

    // Lists the kept points' corners pixel by pixel, each pixel's in the order of their origins, whatever order they were found in.
    MSDA_DEVICE void sort(int count) {
        prefix_sum<T::threads, T::cells + 1>(starts, partial);
        for (int k = thread_index(); k < count; k += T::threads) {
            const Footprint<A> f = footprint(k);
#pragma unroll
            for (int c = 0; c < corners; c++) {
                const int pixel = owned_pixel(f, c);
                if (pixel >= 0) store_shared(grouped + load_shared(starts + pixel) + shared_add(cursor + pixel, 1), 4 * k + c);
            }
        }
        block_barrier();
        const int items = load_shared(starts + T::cells);
        for (int i = thread_index(); i < items; i += T::threads) {
            const int item = load_shared(grouped + i), mine = load_shared(origin + item / 4);
            const int pixel = owned_pixel(footprint(item / 4), item % 4);
            const int first = load_shared(starts + pixel), last = load_shared(starts + pixel + 1);
            int rank = 0;
            for (int j = first; j < last; j++) rank += load_shared(origin + load_shared(grouped + j) / 4) < mine;
            store_shared(ordered + first + rank, item);
        }
        block_barrier();
    }

    MSDA_DEVICE int channel(int k) const { return ((slice * T::chunks + k) * T::lanes + thread_index() % T::lanes) * per_load; }
    MSDA_DEVICE bool has(int k) const {
        if constexpr (T::slices * T::chunks * T::lanes * per_load == T::head_dim) return true;
        else return channel(k) < T::head_dim;
    }
    MSDA_DEVICE A* sum_of(int pixel, int k, int i) const { return sums + pixel * pitch + (k * per_load + i) * T::lanes + thread_index() % T::lanes; }

    // Adds the listed points to their pixels' sums, a lane group a pixel.
    MSDA_DEVICE void gather(const void* grad_output) {
        const int group = thread_index() / T::lanes, lane = thread_index() % T::lanes;
#pragma unroll 1
        for (int first = 0; first < owned; first += groups) {
            const int pixel = first + group;
            const int start = pixel < owned ? load_shared(starts + pixel) : 0;
            const int count = pixel < owned ? load_shared(starts + pixel + 1) - start : 0;
            const int most = warp_max(count);
            if (most == 0) continue;
            A sum[T::chunks][per_load];
#pragma unroll
            for (int k = 0; k < T::chunks; k++)
#pragma unroll
                for (int i = 0; i < per_load; i++) sum[k][i] = 0;
#pragma unroll 1
            for (int base = 0; base < most; base += T::lanes) {
                A weight = 0;
                int row = -1;
                if (base + lane < count) {
                    const int item = load_shared(ordered + start + base + lane), k = item / 4;
                    const Footprint<A> f = footprint(k);
                    A w[4] = {A(1), 0, 0, 0};
                    if constexpr (corners == 4) corner_weights(f.lx, f.ly, A(1), w);
                    weight = load_shared(kept + 2 * capacity + k) * (item & 2 ? (item & 1 ? w[3] : w[2]) : (item & 1 ? w[1] : w[0]));
                    row = first_query + load_shared(origin + k) / T::points_of(level);
                }
#pragma unroll
                for (int u = 0; u < (T::lanes < 8 ? T::lanes : 8); u++) add_row(weight, row, u, base + u < most, grad_output, sum);
#pragma unroll 1
                for (int u = 8; u < T::lanes; u++) add_row(weight, row, u, base + u < most, grad_output, sum);
            }
            if (count == 0) continue;
#pragma unroll
            for (int k = 0; k < T::chunks; k++)
#pragma unroll
                for (int i = 0; i < per_load; i++) store_shared(sum_of(pixel, k, i), load_shared(sum_of(pixel, k, i)) + sum[k][i]);
        }
    }

    MSDA_DEVICE void add_row(A weight, int row, int u, bool any, const void* grad_output, A (*sum)[per_load]) const {
        if (!any) return;
        const A w = shuffle(weight, u, T::lanes);
        const int from = shuffle(row, u, T::lanes);
        if (from < 0) return;
        const char* g = static_cast<const char*>(grad_output) + row_index(from) * T::head_dim * static_cast<i64>(sizeof(V));
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
            if (!has(k)) continue;
            A f[per_load];
            Number<V>::unpack(load_global<T::vector>(g + channel(k) * static_cast<int>(sizeof(V))), f);
#pragma unroll
            for (int i = 0; i < per_load; i++) sum[k][i] = fused_multiply_add(w, f[i], sum[k][i]);
        }
    }

    MSDA_DEVICE void store(void* grad_value) const {
        const int size = shape.height(level) * shape.width(level);
#pragma unroll 1
        for (int pixel = thread_index() / T::lanes; pixel < owned; pixel += groups) {
#pragma unroll
            for (int k = 0; k < T::chunks; k++) {
                if (!has(k)) continue;
                A sum[per_load];
#pragma unroll
                for (int i = 0; i < per_load; i++) sum[i] = load_shared(sum_of(pixel, k, i));
                if constexpr (T::partial) {
                    const i64 plane = (static_cast<i64>(image) * T::heads + head) * shape.owned_plane(T::levels) + shape.owned_plane(level);
                    A* to = static_cast<A*>(grad_value) + (plane + static_cast<i64>(chunk) * size + first_pixel + pixel) * T::head_dim + channel(k);
                    constexpr int step = T::head_dim * sizeof(A) % 16 == 0 && per_load * sizeof(A) % 16 == 0 ? 16 : sizeof(A);
#pragma unroll
                    for (int i = 0; i < per_load; i += step / static_cast<int>(sizeof(A))) store_global<step>(to + i, Number<A>::template pack<step>(sum + i));
                } else {
                    const i64 at = (static_cast<i64>(image) * shape.pixels() + shape.start(level) + first_pixel + pixel) * T::heads + head;
                    store_global<T::vector>(static_cast<char*>(grad_value) + (at * T::head_dim + channel(k)) * static_cast<i64>(sizeof(V)),
                                            Number<V>::template pack<T::vector>(sum));
                }
            }
        }
    }

    MSDA_DEVICE void run(const void* locations, const void* weights, const void* grad_output, void* grad_value) {
        for (int i = thread_index(); i < owned * pitch; i += T::threads) store_shared(sums + i, A(0));
        clear_counts();
        const int points = query_count * T::points_of(level);
        ReadPoint<A> next = read(thread_index(), locations, weights);
        block_barrier();
#pragma unroll 1
        for (int base = 0; base < points; base += T::threads) {
            const ReadPoint<A> point = next;
            next = read(base + T::threads + thread_index(), locations, weights);
            keep(point, base + thread_index());
            block_barrier();
            const int count = load_shared(counter);
            block_barrier();
            // Every thread sees the same count, and it does not depend on the order in which points were kept.
            if (count <= capacity - T::threads && base + T::threads < points) continue;
            sort(count);
            gather(grad_output);
            block_barrier();
            clear_counts();
            block_barrier();
        }
        block_barrier();
        store(grad_value);
    }
};

template <class T, class Shape>
MSDA_DEVICE void backward_owned(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                void* grad_value, void* grad_locations, void* grad_weights) {
    const u32 owners = static_cast<u32>(shape.owned_first(T::levels)) * T::slices * T::heads * static_cast<u32>(shape.batch());
    if (block_index() < owners) {
        BackwardOwned<T, Shape>(shape, block_index()).run(locations, weights, grad_output, grad_value);
    } else if constexpr (T::grad_location || T::grad_weight) {
        BackwardPoints<T, Shape, false> b(shape, block_index() - owners, value, grad_output, nullptr);
        b.run(locations, weights, grad_locations, grad_weights);
    }
}

}  // namespace msda
