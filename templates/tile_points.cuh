// What a block of the dense backward holds in shared memory: grad_output of its tile's queries (one head) and all their points, with the box of
// pixels that the points of each level lie in. `owners` threads share a query: thread n has points n % owners, n % owners + owners, … of query
// n / owners on every level, so that it reads here what it wrote itself.
#pragma once

#include "inside.cuh"
#include "scatter_level.cuh"

namespace msda {

MSDA_DEVICE float power_of_two(int n) { return bits_to_float(static_cast<u32>(127 + n) << 23); }

template <class V>
constexpr bool few_exponents = true;
template <>
constexpr bool few_exponents<bf16> = false;

template <class T, class Shape>
struct TilePoints : TileBlock<T> {
    using V = typename T::value_t;
    using Block = TileBlock<T>;
    using Block::image, Block::head, Block::tile, Block::row_index;
    static constexpr int queries = T::tile_width * (T::tile_height ? T::tile_height : 1);
    static constexpr int owners = T::threads / queries;                  // 1, 2 or 4
    static constexpr int each = (T::most_points + owners - 1) / owners;  // points of a thread on one level, at most
    static constexpr int lanes = 4, per_load = 8;                        // of a row of 64 bytes
    static constexpr int row_bytes = T::head_dim * static_cast<int>(sizeof(V));
    static constexpr int row_words = row_bytes / 4 + 4;  // padded: eight rows side by side lie in different banks
    static constexpr int records = T::levels * each * T::threads;
    static constexpr bool products = T::grad_location || T::grad_weight;
    static constexpr int none = 1 << 28;
    // Rows, then x, y and weight of every point, eight words a level, the greatest weight, a flag.
    static constexpr int shared_bytes = (queries * row_words * 4 + records * 12 + (8 * T::levels + 2) * 4 + 127) / 128 * 128;

    struct Record { float x, y, weight; };

    const Shape& shape;
    char* rows;
    float* numbers;  // [3][level][point of a thread][thread]: x_im, y_im (−2 where the point takes no part), weight
    int* levels;     // of each: least x0, least y0, −greatest x0, −greatest y0, then width, height and start of its map
    int* greatest;   // bits of the greatest |weight|, then 1 if a grad_output is not finite
    i64 own_row;     // of this thread's query among (B, Q, M), −1 where it has none

    MSDA_DEVICE explicit TilePoints(const Shape& s) : Block(s), shape(s) {
        rows = shared_memory();
        numbers = reinterpret_cast<float*>(rows + queries * row_words * 4);
        levels = reinterpret_cast<int*>(numbers + 3 * records);
        greatest = levels + 8 * T::levels;
        const int q = tile.query(thread_index() / owners);
        own_row = q < 0 ? -1 : row_index(shape, q);
    }

    // A row of grad_output, its 4-byte words (channels 2n and 2n + 1) in another order: word n stands at 4·(n % 4) + n / 4. So eight neighbouring words
    // of the row hold eight channels of each lane, and a matrix product (load_tiles, multiply_tile) takes and gives a lane eight neighbouring channels.
    MSDA_DEVICE u32* word(int query, int n) const { return reinterpret_cast<u32*>(rows) + query * row_words + n % 4 * 4 + n / 4; }
    MSDA_DEVICE Raw<16> row(int query, int lane) const {
        Raw<16> raw;
#pragma unroll
        for (int k = 0; k < 4; k++) raw.word[k] = load_shared(word(query, 4 * lane + k));
        return raw;
    }

    // Point of the level that thread `thread` has as its j-th; at least points_of(l) where it is none.
    static MSDA_DEVICE int point_of(int thread, int j) { return thread % owners + j * owners; }
    MSDA_DEVICE Record record(int l, int j, int thread) const {
        const float* const at = numbers + (l * each + j) * T::threads + thread;
        return {load_shared(at), load_shared(at + records), load_shared(at + 2 * records)};
    }

    // Reads everything; a barrier at its end.
    MSDA_DEVICE void start(const void* grad_output, const void* locations, const void* weights) {
        if (const int l = thread_index(); l < T::levels) {
            const Raw<16> nowhere = {{none, none, none, none}};
            const Raw<16> map = {{static_cast<u32>(shape.width(l)), static_cast<u32>(shape.height(l)), static_cast<u32>(shape.start(l)), 0}};
            store_shared(reinterpret_cast<Raw<16>*>(levels) + 2 * l, nowhere);
            store_shared(reinterpret_cast<Raw<16>*>(levels) + 2 * l + 1, map);
        }
        if (thread_index() < 2) store_shared(greatest + thread_index(), 0);
        block_barrier();
        load_rows(grad_output);
        load_points(locations, weights);
        block_barrier();
    }

    MSDA_DEVICE void load_rows(const void* grad_output) {
        bool finite = true;
        for (int i = thread_index(); i < queries * lanes; i += T::threads) {
            const int q = tile.query(i / lanes);
            Raw<16> raw{};
            if (q >= 0) raw = load_global<16>(static_cast<const char*>(grad_output) + row_index(shape, q) * row_bytes + i % lanes * 16);
#pragma unroll
            for (int k = 0; k < 4; k++) store_shared(word(i / lanes, i % lanes * 4 + k), raw.word[k]);
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
            int least[4] = {none, none, none, none};
#pragma unroll
            for (int j = 0; j < each; j++) {
                // A point that is not there reads what query 0 of head 0 has, and takes no part.
                const int p = point_of(thread_index(), j);
                const bool there = own_row >= 0 && p < T::points_of(l);
                const ReadPoint<float> read = read_point<T, float>(locations, weights, there ? own_row : 0, there ? T::first_point(l) + p : 0, true);
                Record r = {image_coordinate(read.x, shape.width(l)), image_coordinate(read.y, shape.height(l)), read.weight};
                const bool in = there && takes_part(r.x, r.y, shape.width(l), shape.height(l));
                if (!in) r = {-2.0f, -2.0f, 0.0f};
                const int x = static_cast<int>(floor_of(r.x)), y = static_cast<int>(floor_of(r.y)), own[4] = {x, y, -x, -y};
#pragma unroll
                for (int c = 0; c < 4; c++) least[c] = in && own[c] < least[c] ? own[c] : least[c];
                const int bits = static_cast<int>(float_to_bits(r.weight) & 0x7fffffffu);
                large = large < bits ? bits : large;
                float* const at = numbers + (l * each + j) * T::threads + thread_index();
                store_shared(at, r.x);
                store_shared(at + records, r.y);
                store_shared(at + 2 * records, r.weight);
            }
            // Lane c brings the warp's c-th number.
#pragma unroll
            for (int c = 0; c < 4; c++) least[c] = warp_min(least[c]);
            const int lane = thread_index() % 32;
            if (lane < 4) shared_min(levels + 8 * l + lane, lane < 2 ? lane == 0 ? least[0] : least[1] : lane == 2 ? least[2] : least[3]);
        }
        large = warp_max(large);
        if (thread_index() % 32 == 0) shared_max(greatest, large);
    }

    // False where a grad_output is not finite (matrix products would spread it to all pixels) or the greatest weight is beyond 2^±60.
    MSDA_DEVICE bool ordinary() const {
        const int bits = load_shared(greatest);
        return load_shared(greatest + 1) == 0 && bits > 0x21800000 && bits < 0x5d800000;
    }
    // Weights are multiplied by 2^shift before they become 16-bit numbers. f16 has few exponents: there the greatest weight is brought to [2^8, 2^9),
    // so that a number and the remainder of its rounding (f32 sums) hold all that matters; where one rounding is all there is (native sums), weights
    // of ordinary size stay as they are.
    MSDA_DEVICE int shift() const {
        if constexpr (!few_exponents<V>) return 0;
        const int exponent = (load_shared(greatest) >> 23) - 127;
        if (sizeof(typename T::grad_t) == 2 && exponent >= -6 && exponent < 12) return 0;
        return 8 - exponent;
    }

    // Writes the gradients of a point of the level; nothing where row or point are none.
    MSDA_DEVICE void store_gradient(int l, i64 row, int point, const PointGradient<float>& gradient, void* grad_locations, void* grad_weights) const {
        if (row >= 0 && point < T::points_of(l)) store_point<T>(gradient, row * T::points + T::first_point(l) + point, grad_locations, grad_weights);
    }

    // A level without a matrix product.
    MSDA_DEVICE void scatter_directly(int l, const void* value, void* grad_value, void* grad_locations, void* grad_weights) const {
        scatter_level<T>(shape, image, head, l, each * T::threads, value, grad_value,
            [&](int i) {
                const Record r = record(l, i / T::threads, i % T::threads);
                return TilePoint<T>{bilinear_footprint(r.x, r.y, shape.width(l), shape.height(l)), r.weight, row(i % T::threads / owners, thread_index() % lanes)};
            },
            [&](int i, const TilePoint<T>& p, const float* s) {
                const int thread = i % T::threads, q = tile.query(thread / owners);
                PointGradient<float> gradient = {0, 0, 0};
                if (p.f.valid) gradient = point_gradient(s, p.f.lx, p.f.ly, p.weight, shape.width(l), shape.height(l));
                store_gradient(l, q < 0 ? -1 : row_index(shape, q), point_of(thread, i / T::threads), gradient, grad_locations, grad_weights);
            });
    }
};

}  // namespace msda
