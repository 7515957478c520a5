// What a block of the sorted backward holds in shared memory: grad_output of its tile's queries (one head) and the points of some levels, binned by
// base pixel ("cell"), with the pixels that they touch listed by their number of visits.
#pragma once

#include "block.cuh"
#include "scatter_level.cuh"

namespace msda {

template <class T, class Shape>
struct SortedPoints : TileBlock<T> {
    using Block = TileBlock<T>;
    using Block::image, Block::head, Block::tile, Block::row_index;
    using V = typename T::value_t;
    static constexpr int per_load = T::vector / static_cast<int>(sizeof(V));
    static constexpr int queries = T::tile_width * (T::tile_height ? T::tile_height : 1);
    static constexpr int groups = T::threads / T::lanes, warps = T::threads / 32, warp_groups = 32 / T::lanes;
    static constexpr int row_bytes = T::head_dim * static_cast<int>(sizeof(V));
    // Rows shorter than 128 bytes are kept once for each part of a 128-byte line, so that groups of a warp read different banks.
    static constexpr int copies = row_bytes < 128 ? 128 / row_bytes : 1;
    static constexpr int max_points = queries * T::pass_points, per_thread = (max_points + T::threads - 1) / T::threads;
    static constexpr int buckets = 64;
    static constexpr bool products = T::grad_location || T::grad_weight;

    // A point in shared memory: where it lies in its level (x_im, y_im), its weight, its query's row.
    struct Record { float x, y, weight; int row; };
    // A level's part of the pass: its footprint (pixels [x, x + width) × [y, y + height), first cell) or scattered directly.
    struct Grid {
        int x, y, width, height, first;
        float per_row;  // 1 / width
    };

    const Shape& shape;
    char* rows;
    Raw<16>* records;
    Raw<16>* sums;  // g·v of each point's four corners
    int* order;     // points by cell
    int* starts;    // first point of each cell
    int* pixels;    // cells by falling number of visits
    int* bucket;
    int* box;       // of each level in the pass: least x, least y, −greatest x, −greatest y; then its Grid's first cell or −1, its cells
    int* partial;   // one word a warp, 16-byte aligned: the compiler reads them by fours, and nothing else that others may be writing

    MSDA_DEVICE explicit SortedPoints(const Shape& s) : Block(s), shape(s) {
        char* at = shared_memory();
        rows = at;
        at += copies * (queries + 1) * row_bytes;
        records = reinterpret_cast<Raw<16>*>(at);
        sums = records + max_points;
        box = reinterpret_cast<int*>(sums + max_points);
        partial = box + 8 * T::levels_per_pass;
        order = partial + 36;
        starts = order + max_points;
        pixels = starts + T::cells + 1;
        bucket = pixels + T::cells;
    }

    MSDA_DEVICE Record record(int point) const {
        const Raw<16> r = load_shared(records + point);
        return {bits_to_float(r.word[0]), bits_to_float(r.word[1]), bits_to_float(r.word[2]), static_cast<int>(r.word[3])};
    }

    // grad_output of the tile's queries; row `queries` is zero, for lanes that have no point to visit.
    MSDA_DEVICE void load_rows(const void* grad_output) {
        for (int i = thread_index(); i < (queries + 1) * T::lanes; i += T::threads) {
            const int row = i / T::lanes, lane = i % T::lanes;
            const int q = row < queries ? tile.query(row) : -1;
            Raw<T::vector> raw{};
            if (q >= 0) raw = load_global<T::vector>(static_cast<const char*>(grad_output) + row_index(shape, q) * row_bytes + lane * T::vector);
#pragma unroll
            for (int k = 0; k < copies; k++) store_shared(reinterpret_cast<Raw<T::vector>*>(rows + (row * copies + k) * row_bytes) + lane, raw);
        }
    }

    // The pass's points are numbered level by level, then by query: point = queries · (points of the levels before) + query · P_l + p.
    struct Place { int level, row, point; };
    static MSDA_DEVICE Place place(int first_level, int last_level, int i) {
        int l = first_level, base = 0;
#pragma unroll 1
        for (int k = first_level; k + 1 < last_level; k++) {
            const int end = queries * (T::first_point(k + 1) - T::first_point(first_level));
            if (i >= end) l = k + 1, base = end;
        }
        const int per = T::points_of(l), r = i - base;
        return {l, r / per, T::first_point(l) + r % per};
    }
    static MSDA_DEVICE int pass_size(int first_level, int last_level) {
        return queries * (T::first_point(last_level) - T::first_point(first_level));
    }

    MSDA_DEVICE Footprint<float> footprint(const Record& r, int l) const { return bilinear_footprint(r.x, r.y, shape.width(l), shape.height(l)); }

    MSDA_DEVICE void clear() {
        for (int i = thread_index(); i <= T::cells; i += T::threads) store_shared(starts + i, 0);
        if (thread_index() < buckets) store_shared(bucket + thread_index(), 0);
        for (int i = thread_index(); i < 4 * T::levels_per_pass; i += T::threads) store_shared(box + i / 4 * 8 + i % 4, 1 << 28);
    }

    // Reads the pass's points into records and finds each level's footprint.
    MSDA_DEVICE void load_points(int first_level, int last_level, const void* locations, const void* weights) {
        const int count = pass_size(first_level, last_level);
#pragma unroll
        for (int k = 0; k < per_thread; k++) {
            const int i = thread_index() + k * T::threads;
            const Place at = place(first_level, last_level, i < count ? i : 0);
            const int q = i < count ? tile.query(at.row) : -1;
            const ReadPoint<float> read = read_point<T, float>(locations, weights, row_index(shape, q < 0 ? 0 : q), at.point, q >= 0);
            Record r = {image_coordinate(read.x, shape.width(at.level)), image_coordinate(read.y, shape.height(at.level)), read.weight, at.row};
            const Footprint<float> f = footprint(r, at.level);
            const bool valid = q >= 0 && f.valid;
            if (!valid) r.x = r.y = -2.0f, r.weight = 0;
            if (i < count) {
                Raw<16> raw;
                raw.word[0] = float_to_bits(r.x), raw.word[1] = float_to_bits(r.y), raw.word[2] = float_to_bits(r.weight), raw.word[3] = static_cast<u32>(r.row);
                store_shared(records + i, raw);
            }
            widen(at.level - first_level, valid, f.x0, f.y0);
        }
    }

    // Grows a level's box by one point a lane; whole warps of one level first agree on theirs.
    MSDA_DEVICE void widen(int j, bool valid, int x, int y) {
        constexpr int none = 1 << 28;
        int* mine = box + 8 * j;
        if constexpr (T::levels_per_pass == 1 || queries % 32 == 0) {
            const int values[4] = {warp_min(valid ? x : none), warp_min(valid ? y : none), warp_min(valid ? -x : none), warp_min(valid ? -y : none)};
            if (thread_index() % 32 == 0)
#pragma unroll
                for (int c = 0; c < 4; c++) shared_min(mine + c, values[c]);
        } else if (valid) {
            shared_min(mine, x), shared_min(mine + 1, y), shared_min(mine + 2, -x), shared_min(mine + 3, -y);
        }
    }

    // Gives cells to the levels of the pass, smallest footprint first. A level's first cell is then ≥ 0, `direct` where its footprint does not fit,
    // or `empty`.
    static constexpr int direct = -1, empty = -2;
    MSDA_DEVICE void choose_grids(int levels) {
        if (thread_index() != 0) return;
        int used = 0;
        u32 done = 0;
#pragma unroll 1
        for (int n = 0; n < levels; n++) {
            int best = 0;
            i64 best_area = -1;
#pragma unroll 1
            for (int j = 0; j < levels; j++) {
                const i64 area = footprint_cells(j);
                if (!(done >> j & 1) && (best_area < 0 || area < best_area)) best = j, best_area = area;
            }
            done |= 1u << best;
            const bool fits = best_area <= T::cells - used;
            store_shared(box + 8 * best + 4, best_area == 0 ? empty : fits ? used : direct);
            store_shared(box + 8 * best + 5, fits ? static_cast<int>(best_area) : 0);
            if (fits) used += static_cast<int>(best_area);
        }
    }
    MSDA_DEVICE i64 footprint_cells(int j) const {
        const int* b = box + 8 * j;
        const int x = load_shared(b), y = load_shared(b + 1);
        return x == 1 << 28 ? 0 : static_cast<i64>(2 - load_shared(b + 2) - x) * (2 - load_shared(b + 3) - y);
    }
    MSDA_DEVICE Grid grid(int j) const {
        const Raw<16> b = load_shared(reinterpret_cast<const Raw<16>*>(box) + 2 * j);
        const int x = static_cast<int>(b.word[0]), y = static_cast<int>(b.word[1]), width = 2 - static_cast<int>(b.word[2]) - x;
        return {x, y, width, 2 - static_cast<int>(b.word[3]) - y, load_shared(box + 8 * j + 4), reciprocal(static_cast<float>(width))};
    }
    MSDA_DEVICE int cells_used(int levels) const {
        int used = 0;
        for (int j = 0; j < levels; j++) used += load_shared(box + 8 * j + 5);
        return used;
    }

    // Cell of a point: its base pixel within the level's footprint; −1 where it has none.
    MSDA_DEVICE int cell_of(int point, int first_level, int last_level) const {
        const Place at = place(first_level, last_level, point);
        const Grid g = grid(at.level - first_level);
        const Record r = record(point);
        if (r.x <= -1.0f || g.first < 0) return -1;
        return g.first + (static_cast<int>(floor_of(r.y)) - g.y) * g.width + static_cast<int>(floor_of(r.x)) - g.x;
    }

    // Counts points a cell, then lists the points cell by cell.
    MSDA_DEVICE void sort_points(int first_level, int last_level) {
        const int count = pass_size(first_level, last_level);
        int cell[per_thread], rank[per_thread];
#pragma unroll
        for (int k = 0; k < per_thread; k++) {
            const int i = thread_index() + k * T::threads;
            cell[k] = i < count ? cell_of(i, first_level, last_level) : -1;
            rank[k] = cell[k] >= 0 ? shared_add(starts + cell[k], 1) : 0;
        }
        block_barrier();
        prefix_sum<T::threads, T::cells + 1>(starts, partial);
#pragma unroll
        for (int k = 0; k < per_thread; k++)
            if (cell[k] >= 0) store_shared(order + load_shared(starts + cell[k]) + rank[k], thread_index() + k * T::threads);
    }

    // The points around a pixel: two runs of the sorted list, those of the cells (x − 1, x) one row up and of its own row. The footprint's last
    // column and row hold no point, so that a run never reaches into a neighbour's row.
    struct Visits {
        int upper, upper_count, own, count;
    };
    MSDA_DEVICE Visits visits(const Grid& g, int cell) const {
        const int k = cell - g.first;
        const auto start = [&](int c) { return c < g.first ? load_shared(starts + g.first) : load_shared(starts + c); };
        Visits v = {0, 0, start(cell - 1), 0};
        v.count = load_shared(starts + cell + 1) - v.own;
        if (k >= g.width) {
            v.upper = start(cell - g.width - 1);
            v.upper_count = load_shared(starts + cell - g.width + 1) - v.upper;
        }
        v.count += v.upper_count;
        return v;
    }
    struct Pixel {
        int level, x, y;
        Grid grid;
    };
    MSDA_DEVICE Pixel pixel_of(int cell, int first_level, int levels) const {
        Pixel p = {first_level, 0, 0, grid(0)};
        if (p.grid.first > cell) p.grid.first = direct;
#pragma unroll 1
        for (int j = 1; j < levels; j++) {
            const Grid g = grid(j);
            if (g.first >= 0 && cell >= g.first && g.first >= p.grid.first) p.level = first_level + j, p.grid = g;
        }
        const int k = cell - p.grid.first, row = quotient_of(k, p.grid.per_row);
        p.x = p.grid.x + k - row * p.grid.width;
        p.y = p.grid.y + row;
        return p;
    }
    // Visits of a cell's pixel, 0 where it lies outside the map.
    MSDA_DEVICE int visit_count(int cell, int first_level, int levels) const {
        const Pixel p = pixel_of(cell, first_level, levels);
        if (p.x < 0 || p.y < 0 || p.x >= shape.width(p.level) || p.y >= shape.height(p.level)) return 0;
        return visits(p.grid, cell).count;
    }

    // Lists the pixels that have points, most visits first: groups of a warp then walk lists of one length. Returns their number.
    MSDA_DEVICE int sort_pixels(int first_level, int levels) {
        constexpr int each = (T::cells + T::threads - 1) / T::threads;
        const int used = cells_used(levels);
        int slot[each], rank[each];
#pragma unroll
        for (int k = 0; k < each; k++) {
            const int cell = thread_index() + k * T::threads;
            const int n = cell < used ? visit_count(cell, first_level, levels) : 0;
            slot[k] = n == 0 ? -1 : n < buckets ? buckets - 1 - n : 0;
            rank[k] = slot[k] >= 0 ? shared_add(bucket + slot[k], 1) : 0;
        }
        block_barrier();
        prefix_sum<T::threads, buckets>(bucket, partial);
#pragma unroll
        for (int k = 0; k < each; k++)
            if (slot[k] >= 0) store_shared(pixels + load_shared(bucket + slot[k]) + rank[k], thread_index() + k * T::threads);
        const int all = load_shared(bucket + buckets - 1);  // bucket 63 is "no visits" and stays empty: its start is the sum of all
        block_barrier();
        return all;
    }
};

}  // namespace msda
