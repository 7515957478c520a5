// Owned pixels where a block's points all fit in shared memory (decoders): each is kept at its own number, so the lists are complete after one
// reading, each pixel is summed in registers and written at once.
#pragma once

#include "owned_block.cuh"

namespace msda {

template <class T, class Shape>
struct OwnedOnce : OwnedBlock<T, Shape> {
    using Base = OwnedBlock<T, Shape>;
    using A = typename T::acc_t;
    using Sum = typename Base::Sum;
    using Base::corners, Base::groups, Base::owned;

    A* kept;       // [3][T::kept]: x, y, weight of each point that touches an owned pixel, at its number
    int* starts;   // first item of each owned pixel
    int* cursor;   // items of each pixel grouped so far; then the pixels that have any
    int* counter;  // how many those are
    int* partial;
    u16* grouped;  // items (point · 4 + corner) grouped by pixel, in any order
    u16* ordered;  // and by point

    MSDA_DEVICE OwnedOnce(const Shape& s, u32 block) : Base(s, block) {
        kept = reinterpret_cast<A*>(shared_memory());
        starts = reinterpret_cast<int*>(kept + 3 * T::kept);
        cursor = starts + T::cells + 1;
        counter = cursor + T::cells;
        partial = counter + 1;
        grouped = reinterpret_cast<u16*>(partial + 32);
        ordered = grouped + 4 * T::kept;
    }

    MSDA_DEVICE Footprint<A> kept_footprint(int k) const { return this->footprint(load_shared(kept + k), load_shared(kept + T::kept + k)); }

    // Keeps a point that touches an owned pixel, and counts its corners.
    MSDA_DEVICE void keep(int i, const ReadPoint<A>& p) {
        const Footprint<A> f = footprint_of<T>(this->shape, p, this->level);
        bool touches = false;
#pragma unroll
        for (int c = 0; c < corners; c++) {
            const int pixel = this->owned_pixel(f, c);
            if (pixel < 0) continue;
            touches = true;
            shared_add(starts + pixel, 1);
        }
        if (i >= this->point_count()) return;
        store_shared(kept + i, touches ? p.x : static_cast<A>(bits_to_float(0x7fffffffu)));  // NaN: touches nothing
        store_shared(kept + T::kept + i, p.y);
        store_shared(kept + 2 * T::kept + i, p.weight);
    }

    MSDA_DEVICE void group_items() {
        for (int k = thread_index(); k < this->point_count(); k += T::threads) {
            const Footprint<A> f = kept_footprint(k);
#pragma unroll
            for (int c = 0; c < corners; c++) {
                const int pixel = this->owned_pixel(f, c);
                if (pixel >= 0) store_shared(grouped + load_shared(starts + pixel) + shared_add(cursor + pixel, 1), static_cast<u16>(4 * k + c));
            }
        }
    }
    // Whatever order the items were grouped in, each pixel's end up by point.
    MSDA_DEVICE void order_items() {
        const int items = load_shared(starts + T::cells);
        for (int i = thread_index(); i < items; i += T::threads) {
            const int item = load_shared(grouped + i);
            const int pixel = this->owned_pixel(kept_footprint(item / 4), item % 4);
            const int first = load_shared(starts + pixel), last = load_shared(starts + pixel + 1);
            int rank = 0;
            for (int j = first; j < last; j++) rank += load_shared(grouped + j) < item;
            store_shared(ordered + first + rank, static_cast<u16>(item));
        }
    }

    MSDA_DEVICE int item_count(int pixel) const { return load_shared(starts + pixel + 1) - load_shared(starts + pixel); }

    // Lists the pixels that have items and writes zeros to the others.
    MSDA_DEVICE void list_pixels(void* grad_value) {
        for (int pixel = thread_index(); pixel < owned; pixel += T::threads)
            if (item_count(pixel) > 0) store_shared(cursor + shared_add(counter, 1), pixel);
        Sum zero{};
        for (int pixel = thread_index() / T::lanes; pixel < owned; pixel += groups)
            if (item_count(pixel) == 0) this->store(pixel, zero, grad_value);
    }

    MSDA_DEVICE void sum_pixels(const void* grad_output, void* grad_value) const {
        const int listed = load_shared(counter);
#pragma unroll 1
        for (int first = 0; first < listed; first += groups) {
            const int n = first + thread_index() / T::lanes;
            const int pixel = n < listed ? load_shared(cursor + n) : 0;
            const int start = load_shared(starts + pixel), count = n < listed ? item_count(pixel) : 0;
            const int most = warp_max(count);
            if (most == 0) continue;
            Sum sum{};
            this->add_listed(count, most, grad_output, sum, [&](int i, A& weight, int& query) {
                const int item = load_shared(ordered + start + i), k = item / 4;
                weight = load_shared(kept + 2 * T::kept + k) * Base::corner_weight(kept_footprint(k), item % 4);
                query = this->query_of_point(k);
            });
            if (count > 0) this->store(pixel, sum, grad_value);
        }
    }

    MSDA_DEVICE void run(const void* locations, const void* weights, const void* grad_output, void* grad_value) {
        for (int i = thread_index(); i <= T::cells; i += T::threads) store_shared(starts + i, 0);
        for (int i = thread_index(); i < T::cells; i += T::threads) store_shared(cursor + i, 0);
        if (thread_index() == 0) store_shared(counter, 0);
        block_barrier();
#pragma unroll 4
        for (int i = thread_index(); i < T::kept; i += T::threads) keep(i, this->read(i, locations, weights));
        block_barrier();
        prefix_sum<T::threads, T::cells + 1>(starts, partial);
        group_items();
        block_barrier();
        order_items();
        block_barrier();
        list_pixels(grad_value);
        block_barrier();
        sum_pixels(grad_output, grad_value);
    }
};

}  // namespace msda
