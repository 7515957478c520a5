// What a block of a tiled backward holds in shared memory: grad_output of its tile's queries (one head) and all their points, with the box of
// pixels that the points of each level lie in.
#pragma once

#include "inside.cuh"
#include "scatter_level.cuh"

namespace msda {

template <class T, class Shape>
struct TilePoints {
    using V = typename T::value_t;
    static constexpr int queries = T::tile_width * (T::tile_height ? T::tile_height : 1);
    static constexpr int lanes = 4, per_load = 8;  // of a row of 64 bytes
    static constexpr int row_bytes = T::head_dim * static_cast<int>(sizeof(V));
    static constexpr int points = queries * T::points;
    static constexpr bool products = T::grad_location || T::grad_weight;
    static constexpr int none = 1 << 28;
    // Rows, then x, y and weight of every point, four words of box a level, the greatest weight, a flag.
    static constexpr int shared_bytes = (queries * row_bytes + points * 12 + (4 * T::levels + 2) * 4 + 127) / 128 * 128;

    struct Record { float x, y, weight; };

    const Shape& shape;
    int image, head, tile;
    char* rows;
    float* numbers;  // [3][points]: x_im, y_im (−2 where the point takes no part), weight; points level by level, then by query
    int* box;        // of each level: least x0, least y0, −greatest x0, −greatest y0
    int* greatest;   // bits of the greatest |weight|, then 1 if a grad_output is not finite

    MSDA_DEVICE explicit TilePoints(const Shape& s) : shape(s) {
        u32 block = block_index();
        tile = static_cast<int>(block % static_cast<u32>(s.tiles()));
        block /= static_cast<u32>(s.tiles());
        head = static_cast<int>(block % T::heads);
        image = static_cast<int>(block / T::heads);
        rows = shared_memory();
        numbers = reinterpret_cast<float*>(rows + queries * row_bytes);
        box = reinterpret_cast<int*>(numbers + 3 * points);
        greatest = box + 4 * T::levels;
    }

    // grad_output lies in the order in which it is the first factor of a matrix product (multiply_tile): [16 queries][half of the channels][lane] of
    // 16 bytes. Word of channels 2·pair and 2·pair + 1 of a query:
    static MSDA_DEVICE int row_word(int query, int pair) {
        return ((query / 16 * 2 + pair % 4 / 2) * 32 + query % 8 * 4 + pair / 4) * 4 + pair % 2 * 2 + query % 16 / 8;
    }
    MSDA_DEVICE u32* row_words() const { return reinterpret_cast<u32*>(rows); }
    MSDA_DEVICE Raw<16> row(int query, int lane) const {
        Raw<16> raw;
#pragma unroll
        for (int k = 0; k < 4; k++) raw.word[k] = load_shared(row_words() + row_word(query, 4 * lane + k));
        return raw;
    }
    MSDA_DEVICE i64 row_index(int query) const { return (static_cast<i64>(image) * shape.queries() + query) * T::heads + head; }
    static MSDA_DEVICE int first_record(int l) { return queries * T::first_point(l); }
    MSDA_DEVICE Record record(int i) const { return {load_shared(numbers + i), load_shared(numbers + points + i), load_shared(numbers + 2 * points + i)}; }
    MSDA_DEVICE Footprint<float> footprint(const Record& r, int l) const { return bilinear_footprint(r.x, r.y, shape.width(l), shape.height(l)); }

    // Reads everything; a barrier at its end.
    MSDA_DEVICE void start(const void* grad_output, const void* locations, const void* weights) {
        for (int i = thread_index(); i < 4 * T::levels; i += T::threads) store_shared(box + i, none);
        if (thread_index() < 2) store_shared(greatest + thread_index(), 0);
        block_barrier();
        load_rows(grad_output);
        load_points(locations, weights);
        block_barrier();
    }

    MSDA_DEVICE void load_rows(const void* grad_output) {
        bool finite = true;
        for (int i = thread_index(); i < queries * lanes; i += T::threads) {
            const int q = query_of<T>(shape, tile, i / lanes);
            Raw<16> raw{};
            if (q >= 0) raw = load_global<16>(static_cast<const char*>(grad_output) + row_index(q) * row_bytes + i % lanes * 16);
#pragma unroll
            for (int k = 0; k < 4; k++) store_shared(row_words() + row_word(i / lanes, i % lanes * 4 + k), raw.word[k]);
            float g[per_load];
            Number<V>::unpack(raw, g);
            finite = finite && all_finite<per_load>(g);
        }
        if (!finite) shared_max(greatest + 1, 1);
    }

    MSDA_DEVICE void load_points(const void* locations, const void* weights) {
        int large = 0;
#pragma unroll
        for (int l = 0; l < T::levels; l++) {
            const int count = queries * T::points_of(l);
            int least[4] = {none, none, none, none};
#pragma unroll
            for (int k = 0; k < (count + T::threads - 1) / T::threads; k++) {
                const int i = thread_index() + k * T::threads;
                const int q = i < count ? query_of<T>(shape, tile, i / T::points_of(l)) : -1;
                const ReadPoint<float> read = read_point<T, float>(locations, weights, row_index(q < 0 ? 0 : q), T::first_point(l) + i % T::points_of(l), q >= 0);
                Record r = {image_coordinate(read.x, shape.width(l)), image_coordinate(read.y, shape.height(l)), read.weight};
                const Footprint<float> f = footprint(r, l);
                if (q < 0 || !f.valid) r = {-2.0f, -2.0f, 0.0f};
                else {
                    least[0] = f.x0 < least[0] ? f.x0 : least[0];
                    least[1] = f.y0 < least[1] ? f.y0 : least[1];
                    least[2] = -f.x0 < least[2] ? -f.x0 : least[2];
                    least[3] = -f.y0 < least[3] ? -f.y0 : least[3];
                }
                const int bits = static_cast<int>(float_to_bits(r.weight) & 0x7fffffffu);
                large = large < bits ? bits : large;
                if (i < count) {
                    store_shared(numbers + first_record(l) + i, r.x);
                    store_shared(numbers + points + first_record(l) + i, r.y);
                    store_shared(numbers + 2 * points + first_record(l) + i, r.weight);
                }
            }
#pragma unroll
            for (int c = 0; c < 4; c++) least[c] = warp_min(least[c]);
            if (thread_index() % 32 == 0)
#pragma unroll
                for (int c = 0; c < 4; c++) shared_min(box + 4 * l + c, least[c]);
        }
        large = warp_max(large);
        if (thread_index() % 32 == 0) shared_max(greatest, large);
    }

    // False where a grad_output is not finite (matrix products would spread it to all pixels) or the greatest weight is beyond 2^±60.
    MSDA_DEVICE bool ordinary() const {
        const int bits = load_shared(greatest);
        return load_shared(greatest + 1) == 0 && bits > 0x21800000 && bits < 0x5d800000;
    }
    // The power of two that brings the greatest weight to [2^8, 2^9): 16-bit numbers and a remainder then hold all that matter.
    MSDA_DEVICE float scale() const { return bits_to_float(static_cast<u32>((127 + 8 + 127 - (load_shared(greatest) >> 23)) << 23)); }

    // Writes the gradients of a point of query number `query` of the tile.
    MSDA_DEVICE void store_gradient(int l, int query, int point, float weight, const Footprint<float>& f, const float* s, void* grad_locations, void* grad_weights) const {
        const int q = query_of<T>(shape, tile, query);
        if (q < 0) return;
        PointGradient<float> out = {0, 0, 0};
        if (f.valid) out = point_gradient(s, f.lx, f.ly, weight, shape.width(l), shape.height(l));
        store_point<T>(out, row_index(q) * T::points + T::first_point(l) + point, grad_locations, grad_weights);
    }

    // A level without a matrix product.
    MSDA_DEVICE void scatter_directly(int l, const void* value, void* grad_value, void* grad_locations, void* grad_weights) const {
        scatter_level<T>(shape, image, head, l, queries * T::points_of(l), value, grad_value,
            [&](int i) {
                const Record r = record(first_record(l) + i);
                return TilePoint<T>{footprint(r, l), r.weight, row(i / T::points_of(l), thread_index() % lanes)};
            },
            [&](int i, const TilePoint<T>& p, const float* s) {
                store_gradient(l, i / T::points_of(l), i % T::points_of(l), p.weight, p.f, s, grad_locations, grad_weights);
            });
    }
};

}  // namespace msda
