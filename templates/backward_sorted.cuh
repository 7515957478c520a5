// The backward with points sorted by pixel. A block takes a tile of queries of one head, keeps their grad_output rows in shared memory and, some
// levels a pass, bins their points by base pixel there. Then each pixel of the tile's footprint belongs to one lane group, which walks over the
// points around it: sums of w·g stay in registers and cost one red a pixel instead of four a point, and the products g·v for the gradients of
// locations and weights come from the pixel's value, read once. A level whose footprint does not fit (random locations on a large map) is
// scattered directly instead: chosen by each block, for each level, from the points it has.
#pragma once

#include "block.cuh"
#include "scatter_level.cuh"

namespace msda {

template <class T, class Shape>
struct BackwardSorted : TileBlock<T> {
    using Block = TileBlock<T>;
    using Block::image, Block::head, Block::tile, Block::row_index;
    using V = typename T::value_t;
    using G = typename T::grad_t;
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
        // Row of a cell, numbered from `first`. Exact below 2^20 cells: (cell + ½) / width is at least ½ / width away from any integer, and off by less
        // than (cell + 1) / width · 2^-22.
        MSDA_DEVICE int row(int cell) const { return static_cast<int>((static_cast<float>(cell) + 0.5f) * per_row); }
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
    int* partial;

    MSDA_DEVICE explicit BackwardSorted(const Shape& s) : Block(s), shape(s) {
        char* at = shared_memory();
        rows = at;
        at += copies * (queries + 1) * row_bytes;
        records = reinterpret_cast<Raw<16>*>(at);
        sums = records + max_points;
        box = reinterpret_cast<int*>(sums + max_points);
        order = box + 8 * T::levels_per_pass;
        starts = order + max_points;
        pixels = starts + T::cells + 1;
        bucket = pixels + T::cells;
        partial = bucket + buckets;
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
        const int k = cell - p.grid.first, row = p.grid.row(k);
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
                p = pixel_of(cell, first_level, levels);
                v = visits(p.grid, cell);
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
                const Record r = record(point);
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
                const Record r = record(first + i);
                return TilePoint<T>{footprint(r, l), r.weight, load_shared(reinterpret_cast<const Raw<T::vector>*>(rows + (r.row * copies + copy) * row_bytes) + lane)};
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
        const int count = pass_size(first_level, last_level);
#pragma unroll 1
        for (int i = thread_index(); i < count; i += T::threads) {
            const Place at = place(first_level, last_level, i);
            const int q = tile.query(at.row);
            if (q < 0) continue;
            const Record r = record(i);
            const Footprint<float> f = footprint(r, at.level);
            const Raw<16> raw = load_shared(sums + i);
            float s[4];
#pragma unroll
            for (int c = 0; c < 4; c++) s[c] = f.valid >> c & 1 ? bits_to_float(raw.word[c]) : 0.0f;
            PointGradient<float> out = {0, 0, 0};
            if (f.valid) out = point_gradient(s, f.lx, f.ly, r.weight, shape.width(at.level), shape.height(at.level));
            store_point<T>(out, row_index(shape, q) * T::points + at.point, grad_locations, grad_weights);
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
