// The backward with points sorted by pixel. A block takes a tile of queries of one head, keeps their grad_output rows in shared memory and, some
// levels a pass, bins their points by base pixel there (SortedPoints). Then each pixel of the tile's footprint belongs to one lane group, which walks
// over the points around it: sums of w·g stay in registers and cost one red a pixel instead of four a point, and the products g·v for the gradients
// of locations and weights come from the pixel's value, read once. A level whose footprint does not fit (random locations on a large map) is
// scattered directly instead: chosen by each block, for each level, from the points it has.
#pragma once

#include "sorted_points.cuh"

namespace msda {

template <class T, class Shape>
struct BackwardSorted : SortedPoints<T, Shape> {
    using Base = SortedPoints<T, Shape>;
    using V = typename T::value_t;
    using G = typename T::grad_t;
    using Base::shape, Base::image, Base::head, Base::tile, Base::rows, Base::records, Base::sums, Base::order, Base::pixels;
    using Base::per_load, Base::queries, Base::groups, Base::warps, Base::warp_groups, Base::row_bytes, Base::copies, Base::products;
    using typename Base::Pixel, typename Base::Place, typename Base::Record, typename Base::Visits;

    MSDA_DEVICE explicit BackwardSorted(const Shape& s) : Base(s) {}

    // Walks over the points around each listed pixel.
    MSDA_DEVICE void gather(int listed, int first_level, int levels, const void* value, void* grad_value) {
        const int lane = thread_index() % T::lanes, group = thread_index() % 32 / T::lanes;
        const int copy = thread_index() / T::lanes % copies;
        const ValueView<T, Shape> view = {static_cast<const char*>(value) + (image * shape.stride_image() + head * shape.stride_head() + lane * per_load) *
                                                                             static_cast<i64>(sizeof(V)), shape};
        G* const grad = static_cast<G*>(grad_value) + (static_cast<i64>(image) * shape.pixels() * T::heads + head) * T::head_dim + lane * per_load;
        // The lists grow shorter from warp to warp: every other round runs the other way.
#pragma unroll 1
        for (int round = 0; round * groups < listed; round++) {
            const int warp = thread_index() / 32, first = round * groups + (round % 2 ? warps - 1 - warp : warp) * warp_groups;
            if (first >= listed) continue;
            const bool live = first + group < listed;
            const int cell = live ? load_shared(pixels + first + group) : 0;
            Pixel p = {first_level, 0, 0, {0, 0, 1, 1, 0, 1.0f}};
            Visits v = {0, 0, 0, 0};
            if (live) {
                p = this->pixel_of(cell, first_level, levels);
                v = this->visits(p.grid, cell);
            }
            const int pixel = shape.start(p.level) + p.y * shape.width(p.level) + p.x;
            Raw<T::vector> raw{};
            if (products && live) raw = load_global<T::vector>(view.at(pixel));
            float sum[per_load];
#pragma unroll
            for (int i = 0; i < per_load; i++) sum[i] = 0;
            visit_all(v, static_cast<float>(p.x), static_cast<float>(p.y), lane, copy, raw, sum);
            if (live) red_add<G, per_load>(grad + static_cast<i64>(pixel) * (T::heads * T::head_dim), sum);
        }
    }

    MSDA_DEVICE void visit_all(const Visits& v, float x, float y, int lane, int copy, const Raw<T::vector>& raw, float* sum) {
        const int most = warp_max(v.count);
#pragma unroll 1
        for (int base = 0; base < most; base += T::lanes) {
            const int at = base + lane, left = most - base;
            const bool live = at < v.count;
            const bool upper = at < v.upper_count;
            int point = 0, row = queries;
            float weight = 0;
            int corner = 0;
            if (live) {
                point = load_shared(order + (upper ? v.upper + at : v.own + at - v.upper_count));
                const Record r = this->record(point);
                const float dx = r.x - x, dy = r.y - y;  // exact: the point lies within a pixel of (x, y)
                weight = (1.0f - (dx < 0 ? -dx : dx)) * (1.0f - (dy < 0 ? -dy : dy)) * r.weight;
                corner = (dx < 0 ? 1 : 0) + (upper ? 2 : 0);
                row = r.row;
            }
            float dots[T::lanes < 8 ? 8 : T::lanes];
            const int offset = (row * copies + copy) * row_bytes;
            float f[per_load];
            Number<V>::unpack(raw, f);
#pragma unroll
            for (int u = 0; u < T::lanes; u++) dots[u] = 0;
            // Two at a time: lanes without a point add nothing.
#pragma unroll
            for (int pair = 0; pair < T::lanes; pair += 2) {
                if (pair >= left) break;
#pragma unroll
                for (int u = pair; u < pair + 2 && u < T::lanes; u++) {
                    const float w = shuffle(weight, u, T::lanes);
                    float g[per_load];
                    Number<V>::unpack(load_shared(reinterpret_cast<const Raw<T::vector>*>(rows + shuffle(offset, u, T::lanes)) + lane), g);
#pragma unroll
                    for (int i = 0; i < per_load; i++) {
                        sum[i] = fused_multiply_add(w, g[i], sum[i]);
                        if constexpr (products) dots[u] = fused_multiply_add(f[i], g[i], dots[u]);
                    }
                }
            }
            if constexpr (products) {
                float mine = 0;
#pragma unroll
                for (int first = 0; first < T::lanes; first += 8) {
                    const float total = sum_transposed<T::lanes>(dots + first);
                    if (T::lanes <= 8 || lane / 8 == first / 8) mine = total;
                }
                if (live) store_shared(reinterpret_cast<float*>(sums + point) + corner, mine);
            }
        }
    }

    // A level without a grid.
    MSDA_DEVICE void scatter_directly(int first_level, int j, const void* value, void* grad_value) {
        const int l = first_level + j, first = queries * (T::first_point(l) - T::first_point(first_level));
        const int lane = thread_index() % T::lanes, copy = thread_index() / T::lanes % copies;
        scatter_level<T>(shape, image, head, l, queries * T::points_of(l), value, grad_value,
            [&](int i) {
                const Record r = this->record(first + i);
                return TilePoint<T>{this->footprint(r, l), r.weight, load_shared(reinterpret_cast<const Raw<T::vector>*>(rows + (r.row * copies + copy) * row_bytes) + lane)};
            },
            [&](int i, const TilePoint<T>&, const float* s) {
                Raw<16> out;
#pragma unroll
                for (int c = 0; c < 4; c++) out.word[c] = float_to_bits(s[c]);
                store_shared(sums + first + i, out);
            });
    }

    // From the corner products to the gradients of locations and weights.
    MSDA_DEVICE void store_gradients(int first_level, int last_level, void* grad_locations, void* grad_weights) {
        const int count = Base::pass_size(first_level, last_level);
#pragma unroll 1
        for (int i = thread_index(); i < count; i += T::threads) {
            const Place at = Base::place(first_level, last_level, i);
            const int q = tile.query(at.row);
            if (q < 0) continue;
            const Record r = this->record(i);
            const Footprint<float> f = this->footprint(r, at.level);
            const Raw<16> raw = load_shared(sums + i);
            float s[4];
#pragma unroll
            for (int c = 0; c < 4; c++) s[c] = f.valid >> c & 1 ? bits_to_float(raw.word[c]) : 0.0f;
            PointGradient<float> out = {0, 0, 0};
            if (f.valid) out = point_gradient(s, f.lx, f.ly, r.weight, shape.width(at.level), shape.height(at.level));
            store_point<T>(out, this->row_index(shape, q) * T::points + at.point, grad_locations, grad_weights);
        }
    }
};

template <class T, class Shape>
MSDA_DEVICE void backward_sorted(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                 void* grad_value, void* grad_locations, void* grad_weights) {
    BackwardSorted<T, Shape> b(shape);
    b.load_rows(grad_output);
#pragma unroll 1
    for (int first = 0; first < T::levels; first += T::levels_per_pass) {
        const int last = first + T::levels_per_pass < T::levels ? first + T::levels_per_pass : T::levels;
        b.clear();
        block_barrier();
        b.load_points(first, last, locations, weights);
        block_barrier();
        b.choose_grids(last - first);
        block_barrier();
        b.sort_points(first, last);
        block_barrier();
        const int listed = b.sort_pixels(first, last - first);
        b.gather(listed, first, last - first, value, grad_value);
#pragma unroll 1
        for (int j = 0; j < last - first; j++)
            if (b.grid(j).first == b.direct) b.scatter_directly(first, j, value, grad_value);
        block_barrier();
        if constexpr (BackwardSorted<T, Shape>::products) b.store_gradients(first, last, grad_locations, grad_weights);
        block_barrier();
    }
}

}  // namespace msda
