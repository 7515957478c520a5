// The backward with owned pixels: a block owns a range of pixels of one level, image and head, reads through the points of its query chunk, keeps
// those that touch its pixels, and sums them pixel by pixel in a fixed order. Each element of grad_value is written once: no zero-fill, no
// atomics, no scratch, and bit-equal results. Best where points are few (decoders), and the deterministic form everywhere. Levels with many points
// a pixel are cut into query chunks whose partial sums add_chunks (finish.cuh) adds in order. The gradients of locations and weights are the
// business of the grid's other blocks, which work row by row.
#pragma once

#include "owned_once.cuh"

namespace msda {

// Owned pixels for any number of points: the sums lie in shared memory, and points are kept until the room for them is full, then added.
template <class T, class Shape>
struct OwnedSummed : OwnedBlock<T, Shape> {
    using Base = OwnedBlock<T, Shape>;
    using A = typename T::acc_t;
    using Sum = typename Base::Sum;
    using Base::corners, Base::groups, Base::owned, Base::per_load;
    static constexpr int channels = T::lanes * T::chunks * per_load;              // a block's slice of D
    static constexpr int pitch = channels + (channels % 32 == 0 ? T::lanes : 0);  // groups of a warp hit different banks
    static constexpr int capacity = 2 * T::threads;                               // points kept at once

    A* sums;       // [owned][pitch]
    A* kept;       // [3][capacity]: x, y, weight of each kept point
    int* origin;   // its number among the points that the block reads: the order of summation
    int* grouped;  // items (kept point · 4 + corner) grouped by pixel, in any order
    int* ordered;  // and by origin
    int* starts;   // first item of each owned pixel
    int* cursor;   // items of each pixel grouped so far
    int* counter;  // points kept
    int* partial;

    MSDA_DEVICE OwnedSummed(const Shape& s, u32 block) : Base(s, block) {
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

    MSDA_DEVICE Footprint<A> kept_footprint(int k) const { return this->footprint(load_shared(kept + k), load_shared(kept + capacity + k)); }

    MSDA_DEVICE void clear_counts() {
        for (int i = thread_index(); i <= T::cells; i += T::threads) store_shared(starts + i, 0);
        for (int i = thread_index(); i < T::cells; i += T::threads) store_shared(cursor + i, 0);
        if (thread_index() == 0) store_shared(counter, 0);
    }

    // Keeps the point if it touches an owned pixel, and counts its corners.
    MSDA_DEVICE void keep(const ReadPoint<A>& p, int number) {
        const Footprint<A> f = footprint_of<T>(this->shape, p, this->level);
        bool touches = false;
#pragma unroll
        for (int c = 0; c < corners; c++) {
            const int pixel = this->owned_pixel(f, c);
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
            const Footprint<A> f = kept_footprint(k);
#pragma unroll
            for (int c = 0; c < corners; c++) {
                const int pixel = this->owned_pixel(f, c);
                if (pixel >= 0) store_shared(grouped + load_shared(starts + pixel) + shared_add(cursor + pixel, 1), 4 * k + c);
            }
        }
        block_barrier();
        const int items = load_shared(starts + T::cells);
        for (int i = thread_index(); i < items; i += T::threads) {
            const int item = load_shared(grouped + i), mine = load_shared(origin + item / 4);
            const int pixel = this->owned_pixel(kept_footprint(item / 4), item % 4);
            const int first = load_shared(starts + pixel), last = load_shared(starts + pixel + 1);
            int rank = 0;
            for (int j = first; j < last; j++) rank += load_shared(origin + load_shared(grouped + j) / 4) < mine;
            store_shared(ordered + first + rank, item);
        }
        block_barrier();
    }

    MSDA_DEVICE A* sum_of(int pixel, int k, int i) const { return sums + pixel * pitch + (k * per_load + i) * T::lanes + thread_index() % T::lanes; }

    // Adds the listed points to their pixels' sums, a lane group a pixel.
    MSDA_DEVICE void add_points(const void* grad_output) {
#pragma unroll 1
        for (int first = 0; first < owned; first += groups) {
            const int pixel = first + thread_index() / T::lanes;
            const int start = pixel < owned ? load_shared(starts + pixel) : 0;
            const int count = pixel < owned ? load_shared(starts + pixel + 1) - start : 0;
            const int most = warp_max(count);
            if (most == 0) continue;
            Sum sum{};
            this->add_listed(count, most, grad_output, sum, [&](int i, A& weight, int& query) {
                const int item = load_shared(ordered + start + i), k = item / 4;
                weight = load_shared(kept + 2 * capacity + k) * Base::corner_weight(kept_footprint(k), item % 4);
                query = this->query_of_point(load_shared(origin + k));
            });
            if (count == 0) continue;
#pragma unroll
            for (int k = 0; k < T::chunks; k++)
#pragma unroll
                for (int i = 0; i < per_load; i++) store_shared(sum_of(pixel, k, i), load_shared(sum_of(pixel, k, i)) + sum.of[k][i]);
        }
    }

    // Writes the owned pixels to grad_value, or this query chunk's share of them to its plane of the workspace.
    MSDA_DEVICE void store_sums(void* grad_value) const {
#pragma unroll 1
        for (int pixel = thread_index() / T::lanes; pixel < owned; pixel += groups) {
            Sum sum;
#pragma unroll
            for (int k = 0; k < T::chunks; k++)
#pragma unroll
                for (int i = 0; i < per_load; i++) sum.of[k][i] = load_shared(sum_of(pixel, k, i));
            if constexpr (T::partial) store_partial(pixel, sum, grad_value);
            else this->store(pixel, sum, grad_value);
        }
    }
    MSDA_DEVICE void store_partial(int pixel, const Sum& sum, void* workspace) const {
        const Shape& shape = this->shape;
        const i64 plane = (static_cast<i64>(this->image) * T::heads + this->head) * shape.owned_plane(T::levels) + shape.owned_plane(this->level);
        const i64 at = plane + static_cast<i64>(this->chunk) * shape.height(this->level) * shape.width(this->level) + this->first_pixel + pixel;
        constexpr int step = T::head_dim * sizeof(A) % 16 == 0 && per_load * sizeof(A) % 16 == 0 ? 16 : sizeof(A);
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
            if (!this->has(k)) continue;
            A* const to = static_cast<A*>(workspace) + at * T::head_dim + this->channel(k);
#pragma unroll
            for (int i = 0; i < per_load; i += step / static_cast<int>(sizeof(A))) store_global<step>(to + i, Number<A>::template pack<step>(sum.of[k] + i));
        }
    }

    MSDA_DEVICE void run(const void* locations, const void* weights, const void* grad_output, void* grad_value) {
        for (int i = thread_index(); i < owned * pitch; i += T::threads) store_shared(sums + i, A(0));
        clear_counts();
        const int points = this->point_count();
        ReadPoint<A> next = this->read(thread_index(), locations, weights);
        block_barrier();
#pragma unroll 1
        for (int base = 0; base < points; base += T::threads) {
            const ReadPoint<A> point = next;
            next = this->read(base + T::threads + thread_index(), locations, weights);
            keep(point, base + thread_index());
            block_barrier();
            const int count = load_shared(counter);
            block_barrier();
            // Every thread sees the same count, and it does not depend on the order in which points were kept.
            if (count <= capacity - T::threads && base + T::threads < points) continue;
            sort(count);
            add_points(grad_output);
            block_barrier();
            clear_counts();
            block_barrier();
        }
        block_barrier();
        store_sums(grad_value);
    }
};

template <class T, class Shape>
MSDA_DEVICE void backward_owned(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                void* grad_value, void* grad_locations, void* grad_weights) {
    const u32 owners = static_cast<u32>(shape.owned_first(T::levels)) * T::slices * T::heads * static_cast<u32>(shape.batch());
    if (block_index() < owners) {
        if constexpr (T::once) OwnedOnce<T, Shape>(shape, block_index()).run(locations, weights, grad_output, grad_value);
        else OwnedSummed<T, Shape>(shape, block_index()).run(locations, weights, grad_output, grad_value);
    } else if constexpr (T::grad_location || T::grad_weight) {
        BackwardPoints<T, Shape, false> b(shape, block_index() - owners, value, grad_output, nullptr);
        b.run(locations, weights, grad_locations, grad_weights);
    }
}

}  // namespace msda
