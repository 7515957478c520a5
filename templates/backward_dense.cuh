// The backward as two small matrix products on tensor cores (16-bit values, sm_80 and newer). A block takes a tile of queries of one head. On each
// level their points lie in a box of pixels; with W (pixels × queries) what each query's points weigh at each pixel of the box, mostly zeros,
//   the tile's part of grad_value is W · G (G: grad_output of the queries), one red a pixel, and
//   the products g·v that the gradients of locations and weights need are entries of G · Vᵀ (V: the box's pixels, each read once).
// No sorting, no atomics in shared memory. W is summed in f32 and enters rounded to 16 bits, with what that lost as a second product unless
// grad_value itself is summed in 16 bits. A level whose box is too large (random locations) is scattered directly instead, chosen by each block.
#pragma once

#include "tile_points.cuh"

namespace msda {

template <class V>
struct TensorPair;
template <>
struct TensorPair<f16> { using type = Halves; };
template <>
struct TensorPair<bf16> { using type = Bfloats; };

template <class T, class Shape>
struct BackwardDense : TilePoints<T, Shape> {
    using Base = TilePoints<T, Shape>;
    using V = typename T::value_t;
    using G = typename T::grad_t;
    using Pair = typename TensorPair<V>::type;
    using Base::shape, Base::image, Base::head, Base::queries, Base::owners, Base::each, Base::products;
    static constexpr int warps = T::threads / 32;
    static constexpr int query_tiles = queries / 16, channel_tiles = T::head_dim / 8;
    static constexpr bool precise = sizeof(G) == 4;           // the second product

    // Shared memory after TilePoints': W and (G · Vᵀ)ᵀ, [pixel of the chunk][query] in f32, their rows padded so that the lanes of a matrix product
    // lie in different banks; then G as the second factor of W · G.
    static constexpr u32 weight_pitch = (queries + 8) * 4, product_pitch = (queries + 4) * 4;  // bytes a pixel
    static constexpr int weights_at = Base::shared_bytes, products_at = weights_at + T::cells * static_cast<int>(weight_pitch);
    static constexpr int columns_at = products_at + T::cells * static_cast<int>(product_pitch);

    MSDA_DEVICE explicit BackwardDense(const Shape& s) : Base(s) {}
    // A number of W or of the products, by its byte offset in them.
    template <class N>
    static MSDA_DEVICE N* weight(u32 at) { return reinterpret_cast<N*>(shared_memory() + weights_at + at); }
    static MSDA_DEVICE float* product(u32 at) { return reinterpret_cast<float*>(shared_memory() + products_at + at); }
    // [16 queries][8 channels][lane]
    static MSDA_DEVICE Raw<8>* column(int i) { return reinterpret_cast<Raw<8>*>(shared_memory() + columns_at) + i; }

    // Channel 8·(n / 2) + 2·j + n % 2 stands in column n of tile j: a lane's sums then are eight neighbouring channels.
    MSDA_DEVICE void build_columns() const {
        const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
#pragma unroll 1
        for (int i = thread_index() / 32; i < query_tiles * channel_tiles; i += warps) {
            const int first = i / channel_tiles * 16 + 2 * t, pair = g / 2 * (channel_tiles) + i % channel_tiles;
            Raw<8> b;
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const u32 even = load_shared(this->row_words() + Base::row_word(first + 8 * h, pair));
                const u32 odd = load_shared(this->row_words() + Base::row_word(first + 8 * h + 1, pair));
                b.word[h] = g % 2 == 0 ? (even & 0xffffu) | odd << 16 : even >> 16 | (odd & 0xffff0000u);
            }
            store_shared(column(i * 32 + lane), b);
        }
        for (int i = thread_index(); i < T::cells * static_cast<int>(weight_pitch) / 16; i += T::threads)
            store_shared(weight<Raw<16>>(static_cast<u32>(i) * 16), Raw<16>{});
    }

    // The box of a level's points, corners included, and the level.
    struct Box {
        int x, y, width, height;  // no pixel where the level has no point
        int map_width, map_height, start;
        float per_row;  // 1 / width
        MSDA_DEVICE int cells() const { return width * height; }
        // Pixel of a cell, −1 outside the map or the box. The row is exact below 2^20 cells: (cell + ½) / width is at least ½ / width away from any
        // integer, and off by less than (cell + 1) / width · 2^-22.
        MSDA_DEVICE int pixel(int cell) const {
            const int row = static_cast<int>((static_cast<float>(cell) + 0.5f) * per_row), px = x + cell - row * width, py = y + row;
            const bool there = cell < cells() && static_cast<u32>(px) < static_cast<u32>(map_width) && static_cast<u32>(py) < static_cast<u32>(map_height);
            return there ? start + py * map_width + px : -1;
        }
    };
    MSDA_DEVICE Box box_of(int l) const {
        const Raw<16>* const level = reinterpret_cast<const Raw<16>*>(this->levels) + 2 * l;
        const Raw<16> box = load_shared(level), map = load_shared(level + 1);
        const int x = static_cast<int>(box.word[0]), y = static_cast<int>(box.word[1]);
        const bool none = x == Base::none;
        const int width = none ? 0 : 2 - static_cast<int>(box.word[2]) - x, height = none ? 0 : 2 - static_cast<int>(box.word[3]) - y;
        return {x, y, width, height, static_cast<int>(map.word[0]), static_cast<int>(map.word[1]), static_cast<int>(map.word[2]),
                reciprocal(static_cast<float>(width))};
    }

    // A point of this thread: its footprint, its base pixel in the box, and the offsets of its corners in the products, counted from the box's first
    // pixel; `nowhere` where a corner is none.
    static constexpr u32 nowhere = 1u << 31;
    struct Point {
        Footprint<float> f;
        float weight;
        int cell;
        u32 at[4];
    };
    // Offsets of a point's corners in rows of `pitch` bytes.
    static MSDA_DEVICE void corner_offsets(const Point& p, int box_width, u32 pitch, u32* at) {
        const u32 first = static_cast<u32>(p.cell) * pitch + static_cast<u32>(thread_index() / owners) * 4, below = static_cast<u32>(box_width) * pitch;
#pragma unroll
        for (int c = 0; c < 4; c++) at[c] = p.f.valid >> c & 1 ? first + (c & 1 ? pitch : 0) + (c & 2 ? below : 0) : nowhere;
    }
    MSDA_DEVICE Point point(const Box& b, int l, int j) const {
        const typename Base::Record r = this->record(l, j, thread_index());
        Point p = {bilinear_footprint(r.x, r.y, b.map_width, b.map_height), r.weight, 0, {}};
        p.cell = (p.f.y0 - b.y) * b.width + p.f.x0 - b.x;
        corner_offsets(p, b.width, product_pitch, p.at);
        return p;
    }

    // What this thread adds to W. The threads of a query share the pixels of the box by the parity of row and column, of which each point's corners
    // have one of each kind, so that no two of them meet in a word: entry c of a point goes to the thread of its parity.
    struct Entries {
        u32 at[4 * each];
        float weight[4 * each];
    };
    MSDA_DEVICE void find_entries(const Box& b, const Point* points, float scale, Entries& e) const {
        const int mine = thread_index() % owners;
#pragma unroll
        for (int j = 0; j < each; j++) {
            const Point& p = points[j];
            u32 at[4];
            float w[4];
            corner_offsets(p, b.width, weight_pitch, at);
            corner_weights(p.f.lx, p.f.ly, p.weight * scale, w);
            if constexpr (owners == 2) {
                const bool other = (p.f.y0 - b.y ^ mine) & 1;  // the upper row is the other thread's
                trade(other, 1, at[0], at[2], w[0], w[2]);
                trade(other, 1, at[1], at[3], w[1], w[3]);
            } else if constexpr (owners == 4) {
                bool other = (p.f.y0 - b.y ^ mine / 2) & 1;
                const bool odd = (p.f.x0 - b.x) & 1;
                // By column first put in order of parity, so that after the trade of rows the same lies beside the same.
                order(odd, at[0], at[1], w[0], w[1]);
                order(odd, at[2], at[3], w[2], w[3]);
                trade(other, 2, at[0], at[2], w[0], w[2]);
                trade(other, 2, at[1], at[3], w[1], w[3]);
                other = mine & 1;
                trade(other, 1, at[0], at[1], w[0], w[1]);
                trade(other, 1, at[2], at[3], w[2], w[3]);
            }
#pragma unroll
            for (int c = 0; c < 4; c++) e.at[4 * j + c] = at[c], e.weight[4 * j + c] = w[c];
        }
    }
    static MSDA_DEVICE void order(bool swapped, u32& a, u32& b, float& x, float& y) {
        const u32 at = a;
        const float weight = x;
        a = swapped ? b : a, b = swapped ? at : b;
        x = swapped ? y : x, y = swapped ? weight : y;
    }
    // Keeps the second of two entries (the first unless `other`) and gets the lane's own kind from lane ^ mask for the one given away.
    static MSDA_DEVICE void trade(bool other, int mask, u32& a, u32& b, float& x, float& y) {
        order(other, a, b, x, y);
        b = shuffle_xor(b, mask);
        y = shuffle_xor(y, mask);
    }
    // Adds them to W where they lie in the chunk of cells from `first` on, or clears what they added.
    template <bool Clear>
    MSDA_DEVICE void apply_entries(const Entries& e, int first) const {
#pragma unroll
        for (int i = 0; i < 4 * each; i++) {
            const u32 at = e.at[i] - static_cast<u32>(first) * weight_pitch;
            if (at < T::cells * weight_pitch) store_shared(weight<float>(at), Clear ? 0.0f : load_shared(weight<float>(at)) + e.weight[i]);
        }
    }

    // Takes from the products what the corners of this thread's points need.
    MSDA_DEVICE void pick(const Point* points, int first, float (*s)[4]) const {
#pragma unroll
        for (int j = 0; j < each; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const u32 at = points[j].at[c] - static_cast<u32>(first) * product_pitch;
                if (at < T::cells * product_pitch) s[j][c] = load_shared(product(at));
            }
    }

    // A warp's 16 cells of a chunk, `units` times: pixel of cells g and g + 8 of each.
    static constexpr int units = (T::cells + warps * 16 - 1) / (warps * 16);
    static MSDA_DEVICE int unit_cell(int u) { return (u * warps + thread_index() / 32) * 16; }

    // G · Vᵀ for 16 cells.
    MSDA_DEVICE void multiply_values(int cell, const int* pixel, const char* value) const {
        const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
        Raw<16> v[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            v[h] = Raw<16>{};
            if (pixel[h] >= 0) v[h] = load_global<16>(value + static_cast<i64>(pixel[h]) * static_cast<int>(shape.stride_pixel() * 2) + t * 16);
        }
        const u32 to = static_cast<u32>(cell + 2 * t) * product_pitch + static_cast<u32>(g) * 4;
#pragma unroll
        for (int m = 0; m < query_tiles; m++) {
            const Raw<16>* const row = reinterpret_cast<const Raw<16>*>(this->rows) + m * 64 + lane;
            const Raw<16> a[2] = {load_shared(row), load_shared(row + 32)};
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float zero[4] = {0, 0, 0, 0};
                float d[4];
                multiply_tile(Pair{}, d, zero, a[0].word, v[h].word);
                multiply_tile(Pair{}, d, d, a[1].word, v[h].word + 2);
#pragma unroll
                for (int k = 0; k < 4; k++) store_shared(product(to + static_cast<u32>(8 * h + k % 2) * product_pitch + static_cast<u32>(m * 16 + k / 2 * 8) * 4), d[k]);
            }
        }
    }

    // W · G for 16 cells, added to grad_value.
    MSDA_DEVICE void multiply_weights(int cell, const int* pixel, float unscale, G* grad) const {
        const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
        const u32 from = static_cast<u32>(cell + g) * weight_pitch + static_cast<u32>(2 * t) * 4;
        float d[channel_tiles][4];
#pragma unroll
        for (int j = 0; j < channel_tiles; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) d[j][k] = 0;
#pragma unroll
        for (int m = 0; m < query_tiles; m++) {
            u32 high[4], low[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const Raw<8> w = load_shared(weight<Raw<8>>(from + static_cast<u32>(k % 2 * 8) * weight_pitch + static_cast<u32>(m * 16 + k / 2 * 8) * 4));
                split_pair(bits_to_float(w.word[0]), bits_to_float(w.word[1]), high[k], low[k]);
            }
#pragma unroll
            for (int j = 0; j < channel_tiles; j++) {
                const Raw<8> b = load_shared(column((m * channel_tiles + j) * 32 + lane));
                multiply_tile(Pair{}, d[j], d[j], high, b.word);
                if constexpr (precise) multiply_tile(Pair{}, d[j], d[j], low, b.word);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float sum[2 * channel_tiles];
            u32 any = 0;
#pragma unroll
            for (int k = 0; k < 2 * channel_tiles; k++) {
                sum[k] = d[k / 2][2 * h + k % 2] * unscale;
                any |= float_to_bits(sum[k]);
            }
            if (pixel[h] >= 0 && any << 1) red_add<G, 2 * channel_tiles>(grad + static_cast<i64>(pixel[h]) * (T::heads * T::head_dim), sum);
        }
    }
    static MSDA_DEVICE void split_pair(float a, float b, u32& high, u32& low) {
        high = Number<V>::narrow_pair(a, b);
        if constexpr (precise) {
            float wide[2];
            Number<V>::widen_pair(high, wide[0], wide[1]);
            low = Number<V>::narrow_pair(a - wide[0], b - wide[1]);
        }
    }

    MSDA_DEVICE void run_level(int l, const Box& b, const char* value, G* grad, void* grad_locations, void* grad_weights) {
        float s[each][4];
        Point points[each];
        Entries e;
#pragma unroll
        for (int j = 0; j < each; j++) {
            points[j] = point(b, l, j);
#pragma unroll
            for (int c = 0; c < 4; c++) s[j][c] = 0;
        }
        find_entries(b, points, this->scale(), e);
        const float unscale = this->unscale();
#pragma unroll 1
        for (int first = 0; first < b.cells(); first += T::cells) {
            apply_entries<false>(e, first);
            int pixel[units][2];
#pragma unroll
            for (int u = 0; u < units; u++) {
#pragma unroll
                for (int h = 0; h < 2; h++) pixel[u][h] = b.pixel(first + unit_cell(u) + 8 * h + thread_index() % 32 / 4);
                if (products && unit_cell(u) < T::cells && first + unit_cell(u) < b.cells()) multiply_values(unit_cell(u), pixel[u], value);
            }
            block_barrier();
            if constexpr (products) pick(points, first, s);
#pragma unroll
            for (int u = 0; u < units; u++)
                if (unit_cell(u) < T::cells && first + unit_cell(u) < b.cells()) multiply_weights(unit_cell(u), pixel[u], unscale, grad);
            block_barrier();
            apply_entries<true>(e, first);
            if constexpr (owners > 1) warp_barrier();
        }
        if constexpr (products) {
#pragma unroll
            for (int j = 0; j < each; j++)
                this->store_gradient(l, this->own_row, Base::point_of(thread_index(), j), points[j].weight, points[j].f, s[j], b.map_width, b.map_height,
                                     grad_locations, grad_weights);
        }
    }
};

template <class T, class Shape>
MSDA_DEVICE void backward_dense(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                void* grad_value, void* grad_locations, void* grad_weights) {
    using Block = BackwardDense<T, Shape>;
    using G = typename T::grad_t;
    Block b(shape);
    b.start(grad_output, locations, weights);
    b.build_columns();
    block_barrier();
    const char* const v = static_cast<const char*>(value) + (static_cast<i64>(b.image) * shape.stride_image() + b.head * shape.stride_head()) * 2;
    G* const grad = static_cast<G*>(grad_value) + (static_cast<i64>(b.image) * shape.pixels() * T::heads + b.head) * T::head_dim + thread_index() % 4 * (T::head_dim / 4);
    const bool ordinary = b.ordinary();
#pragma unroll 1
    for (int l = 0; l < T::levels; l++) {
        const auto box = b.box_of(l);
        const bool dense = ordinary && static_cast<i64>(box.width) * box.height <= 3 * Block::queries * T::points_of(l);
        if (dense || box.width == 0) b.run_level(l, box, v, grad, grad_locations, grad_weights);
        else b.scatter_directly(l, value, grad_value, grad_locations, grad_weights);
    }
}

}  // namespace msda
