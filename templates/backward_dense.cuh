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

    // Shared memory after TilePoints': W and (G · Vᵀ)ᵀ, [cell of the chunk][query] in f32; then the pixels of the chunk. Rows are padded so that four
    // neighbouring cells lie in different banks.
    static constexpr int cell_words = queries + 8;
    static constexpr u32 pitch = cell_words * 4;
    static constexpr int weights_at = Base::shared_bytes, products_at = weights_at + T::cells * static_cast<int>(pitch);
    static constexpr int pixels_at = products_at + T::cells * static_cast<int>(pitch);

    MSDA_DEVICE explicit BackwardDense(const Shape& s) : Base(s) {}
    // A number of W or of the products, by its byte offset in them.
    template <class N>
    static MSDA_DEVICE N* weight(u32 at) { return reinterpret_cast<N*>(shared_memory() + weights_at + at); }
    static MSDA_DEVICE float* product(u32 at) { return reinterpret_cast<float*>(shared_memory() + products_at + at); }
    static MSDA_DEVICE int* pixel(int cell) { return reinterpret_cast<int*>(shared_memory() + pixels_at) + cell; }

    MSDA_DEVICE void clear_weights() const {
        for (int i = thread_index(); i < T::cells * static_cast<int>(pitch) / 16; i += T::threads)
            store_shared(weight<Raw<16>>(static_cast<u32>(i) * 16), Raw<16>{});
    }

    // The box of a level's points, corners included, and the level. Its cells are numbered by squares of 2 × 2: of the four corners of any point, one
    // has each number modulo 4.
    struct Box {
        int x, y, width, height;  // first pixel; size in squares, 0 where the level has no point
        int map_width, map_height, start;
        float per_row;  // 1 / width
        MSDA_DEVICE int cells() const { return 4 * width * height; }
        // Pixel of a cell, −1 outside the map or the box.
        MSDA_DEVICE int pixel(int cell) const {
            const int square = cell / 4, row = quotient_of(square, per_row);
            const int px = x + (square - row * width) * 2 + cell % 2, py = y + row * 2 + cell / 2 % 2;
            const bool there = cell < cells() && static_cast<u32>(px) < static_cast<u32>(map_width) && static_cast<u32>(py) < static_cast<u32>(map_height);
            return there ? start + py * map_width + px : -1;
        }
    };
    MSDA_DEVICE Box box_of(int l) const {
        const Raw<16>* const level = reinterpret_cast<const Raw<16>*>(this->levels) + 2 * l;
        const Raw<16> box = load_shared(level), map = load_shared(level + 1);
        const int x = static_cast<int>(box.word[0]), y = static_cast<int>(box.word[1]);
        const bool none = x == Base::none;
        const int width = none ? 0 : (3 - static_cast<int>(box.word[2]) - x) / 2, height = none ? 0 : (3 - static_cast<int>(box.word[3]) - y) / 2;
        return {x, y, width, height, static_cast<int>(map.word[0]), static_cast<int>(map.word[1]), static_cast<int>(map.word[2]),
                reciprocal(static_cast<float>(width))};
    }

    // A point of this thread. Its corners are numbered anew: in step k the (up to four) threads of one query are at cells that differ modulo 4, and
    // add to W without meeting in a word or a bank. Number k is corner k ^ turn.
    struct Point {
        float x, y, weight;         // how far it lies from the column of its corners 0 and 2, from the row of its corners 0 and 1
        int map_width, map_height;  // negative where columns, rows are turned
        u32 at[4];                  // offsets of its corners, counted from the first cell of the box; `nowhere` where it takes no part
        float s[4];                 // g·v of its corners; those outside the map get 0 from the products
    };
    static constexpr u32 nowhere = 1u << 31;
    MSDA_DEVICE Point point(const Box& b, int l, int j) const {
        const typename Base::Record r = this->record(l, j, thread_index());
        const float left = floor_of(r.x), upper = floor_of(r.y);
        const int x = static_cast<int>(left) - b.x, y = static_cast<int>(upper) - b.y, owner = thread_index() % owners;
        const int odd_x = owners == 4 ? owner % 2 : 0, odd_y = owners == 4 ? owner / 2 : owner;  // parities of the first step
        const bool turn_x = (x ^ odd_x) & 1, turn_y = (y ^ odd_y) & 1;
        Point p;
        p.x = turn_x ? 1.0f - (r.x - left) : r.x - left;
        p.y = turn_y ? 1.0f - (r.y - upper) : r.y - upper;
        p.weight = r.weight;
        p.map_width = turn_x ? -b.map_width : b.map_width;
        p.map_height = turn_y ? -b.map_height : b.map_height;
        const bool in = r.x > -2.0f;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int cell_x = k % 2 ^ odd_x, cell_y = k / 2 ^ odd_y;
            const int square = (y + 1 - cell_y) / 2 * b.width + (x + 1 - cell_x) / 2;
            p.at[k] = in ? static_cast<u32>(square * 4 + cell_y * 2 + cell_x) * pitch + static_cast<u32>(thread_index() / owners) * 4 : nowhere;
            p.s[k] = 0;
        }
        return p;
    }

    // Adds the points to W where they lie in the chunk of cells from `first` on, or clears what they added.
    template <bool Clear>
    MSDA_DEVICE void apply(const Point* points, float scale, int first) const {
        float w[each][4];
#pragma unroll
        for (int j = 0; j < each; j++) corner_weights(points[j].x, points[j].y, points[j].weight * scale, w[j]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int j = 0; j < each; j++) {
                const u32 at = points[j].at[k] - static_cast<u32>(first) * pitch;
                if (at < T::cells * pitch) store_shared(weight<float>(at), Clear ? 0.0f : load_shared(weight<float>(at)) + w[j][k]);
            }
            if constexpr (owners > 1) warp_barrier();
        }
    }

    // Takes from the products what the corners of this thread's points need.
    MSDA_DEVICE void pick(Point* points, int first) const {
#pragma unroll
        for (int j = 0; j < each; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const u32 at = points[j].at[k] - static_cast<u32>(first) * pitch;
                if (at < T::cells * pitch) points[j].s[k] = load_shared(product(at));
            }
    }

    // 16 queries' grad_output as first factor of G · Vᵀ (halves of the channels) and second of W · G (eighths: column n of number j is channel
    // 8·(n / 2) + 2·j + n % 2). A tile of 16 queries keeps them in registers.
    struct Rows {
        Raw<16> half[2];
        Raw<16> column[2];
        MSDA_DEVICE const u32* columns(int j) const { return column[j / 2].word + j % 2 * 2; }
    };
    MSDA_DEVICE void load_factors(int m, Rows& rows) const {
        const int lane = thread_index() % 32;
        const char* const at = this->rows + (m * 16 + lane % 16) * Base::row_words * 4 + lane / 16 * 16;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            rows.half[h] = load_tiles<false>(at + 32 * h);
            rows.column[h] = load_tiles<true>(at + 32 * h);
        }
    }
    MSDA_DEVICE Rows factors(int m, const Rows& kept) const {
        if constexpr (query_tiles == 1) return kept;
        Rows rows;
        load_factors(m, rows);
        return rows;
    }

    // Lists the pixels of a chunk.
    MSDA_DEVICE void list_pixels(const Box& b, int first) const {
        for (int cell = thread_index(); cell < T::cells; cell += T::threads) store_shared(pixel(cell), b.pixel(first + cell));
    }

    // Row n of a matrix product over cells (n + 8: cell + 8): in this order neither four rows nor every other one of eight meet in a bank.
    static MSDA_DEVICE int cell_of(int n) { return n ^ n / 4; }

    // G · Vᵀ for 16 cells.
    MSDA_DEVICE void multiply_values(int cell, const Raw<16>* v, const Rows& kept) const {
        const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
        float* to[2];
#pragma unroll
        for (int k = 0; k < 2; k++) to[k] = product(static_cast<u32>(cell + cell_of(2 * t + k)) * pitch) + g;
#pragma unroll
        for (int m = 0; m < query_tiles; m++) {
            const Rows rows = factors(m, kept);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float zero[4] = {0, 0, 0, 0};
                float d[4];
                multiply_tile(Pair{}, d, zero, rows.half[0].word, v[h].word);
                multiply_tile(Pair{}, d, d, rows.half[1].word, v[h].word + 2);
#pragma unroll
                for (int k = 0; k < 4; k++) store_shared(to[k % 2] + 8 * h * cell_words + m * 16 + k / 2 * 8, d[k]);
            }
        }
    }

    // W · G for 16 cells, added to grad_value.
    MSDA_DEVICE void multiply_weights(int cell, const int* pixel, int shift, const Rows& kept, G* grad) const {
        const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
        const float* const from = weight<float>(static_cast<u32>(cell + cell_of(g)) * pitch) + 2 * t;
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
                const Raw<8> w = load_shared(reinterpret_cast<const Raw<8>*>(from + k % 2 * 8 * cell_words + m * 16 + k / 2 * 8));
                split_pair(bits_to_float(w.word[0]), bits_to_float(w.word[1]), high[k], low[k]);
            }
            const Rows rows = factors(m, kept);
#pragma unroll
            for (int j = 0; j < channel_tiles; j++) {
                multiply_tile(Pair{}, d[j], d[j], high, rows.columns(j));
                if constexpr (precise) multiply_tile(Pair{}, d[j], d[j], low, rows.columns(j));
            }
        }
        if (shift != 0) {
            const float unscale = power_of_two(-shift);
#pragma unroll
            for (int j = 0; j < channel_tiles; j++)
#pragma unroll
                for (int k = 0; k < 4; k++) d[j][k] *= unscale;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float sum[2 * channel_tiles];
            u32 any = 0;
#pragma unroll
            for (int k = 0; k < 2 * channel_tiles; k++) {
                sum[k] = d[k / 2][2 * h + k % 2];
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

    static constexpr int units = (T::cells + warps * 16 - 1) / (warps * 16);  // 16 cells of a chunk that a warp takes
    // Both products for 16 cells.
    MSDA_DEVICE void multiply(int cell, int shift, const Rows& rows, const char* value, G* grad) const {
        const int lane = thread_index() % 32;
        const int at[2] = {load_shared(pixel(cell + cell_of(lane / 4))), load_shared(pixel(cell + cell_of(lane / 4) + 8))};
        Raw<16> v[2] = {};
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (products && at[h] >= 0) v[h] = load_global<16>(value + static_cast<i64>(at[h]) * static_cast<int>(shape.stride_pixel() * 2) + lane % 4 * 16);
        multiply_weights(cell, at, shift, rows, grad);
        if constexpr (products) multiply_values(cell, v, rows);
    }

    MSDA_DEVICE void run_level(int l, const Box& b, const Rows& rows, const char* value, G* grad, void* grad_locations, void* grad_weights) const {
        Point points[each];
#pragma unroll
        for (int j = 0; j < each; j++) points[j] = point(b, l, j);
        const int shift = this->shift();
        const float scale = power_of_two(shift);
#pragma unroll 1
        for (int first = 0; first < b.cells(); first += T::cells) {
            apply<false>(points, scale, first);
            list_pixels(b, first);
            block_barrier();
#pragma unroll
            for (int u = 0; u < units; u++) {
                const int cell = (u * warps + thread_index() / 32) * 16;
                if ((T::cells % (warps * 16) == 0 || cell < T::cells) && first + cell < b.cells()) multiply(cell, shift, rows, value, grad);
            }
            block_barrier();
            if constexpr (products) pick(points, first);
            apply<true>(points, scale, first);
        }
        if constexpr (products) {
#pragma unroll
            for (int j = 0; j < each; j++) {
                const Point& p = points[j];
                this->store_gradient(l, this->own_row, Base::point_of(thread_index(), j), point_gradient(p.s, p.x, p.y, p.weight, p.map_width, p.map_height),
                                     grad_locations, grad_weights);
            }
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
    b.clear_weights();
    block_barrier();
    const char* const v = static_cast<const char*>(value) + (static_cast<i64>(b.image) * shape.stride_image() + b.head * shape.stride_head()) * 2;
    G* const grad = static_cast<G*>(grad_value) + (static_cast<i64>(b.image) * shape.pixels() * T::heads + b.head) * T::head_dim + thread_index() % 4 * (T::head_dim / 4);
    typename Block::Rows rows{};
    if constexpr (Block::query_tiles == 1) b.load_factors(0, rows);
    const bool ordinary = b.ordinary();
#pragma unroll 1
    for (int l = 0; l < T::levels; l++) {
        const auto box = b.box_of(l);
        const bool dense = ordinary && 4 * static_cast<i64>(box.width) * box.height <= 3 * Block::queries * T::points_of(l);
        if (dense || box.width == 0) b.run_level(l, box, rows, v, grad, grad_locations, grad_weights);
        else b.scatter_directly(l, value, grad_value, grad_locations, grad_weights);
    }
}

}  // namespace msda
