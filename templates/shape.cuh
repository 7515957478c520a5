// Sizes of a problem as the kernels see them, and which (image, query, head) each thread works on.
// Two kinds of shape share one interface of member functions: an `exact` kernel's is emitted as constants, a `family` kernel's is FamilyShape,
// a launch argument. generator/plan.cpp writes FamilyShape's bytes and must keep its order of fields.
#pragma once

#include "number.cuh"

namespace msda {

template <int L>
struct FamilyShape {
    i64 stride_image_, stride_pixel_, stride_head_;  // elements of value
    int batch_, queries_, pixels_, tiles_;
    int height_[L], width_[L], start_[L];
    int tile_first_[L], tiles_across_[L];
    int owned_first_[L + 1], owned_chunks_[L], owned_plane_[L + 1];

    MSDA_DEVICE i64 stride_image() const { return stride_image_; }
    MSDA_DEVICE i64 stride_pixel() const { return stride_pixel_; }
    MSDA_DEVICE i64 stride_head() const { return stride_head_; }
    MSDA_DEVICE int batch() const { return batch_; }
    MSDA_DEVICE int queries() const { return queries_; }
    MSDA_DEVICE int pixels() const { return pixels_; }
    // Blocks that cover the queries of one image and head group.
    MSDA_DEVICE int tiles() const { return tiles_; }
    MSDA_DEVICE int height(int l) const { return height_[l]; }
    MSDA_DEVICE int width(int l) const { return width_[l]; }
    MSDA_DEVICE int start(int l) const { return start_[l]; }
    // First tile of level l, and tiles side by side in it, for 2-D tiles.
    MSDA_DEVICE int tile_first(int l) const { return tile_first_[l]; }
    MSDA_DEVICE int tiles_across(int l) const { return tiles_across_[l]; }
    // Owned backward: first block of level l within one (image, head, slice), its query chunks, and its first pixel among the partial sums of
    // one (image, head); entry `levels` is the count of all.
    MSDA_DEVICE int owned_first(int l) const { return owned_first_[l]; }
    MSDA_DEVICE int owned_chunks(int l) const { return owned_chunks_[l]; }
    MSDA_DEVICE int owned_plane(int l) const { return owned_plane_[l]; }
};

// The queries of one tile. 1-D: consecutive queries. 2-D: a rectangle of the queries' own level, which keeps the pixels that neighbouring queries
// sample in L1 (encoders: ddetr-enc f16 57 -> 54 µs).
template <class T>
struct QueryTile {
    int first;          // query of the tile's first row and column
    int columns, rows;  // of the tile that exist, counted to the end of the level
    int pitch;          // queries from one row to the next

    template <class Shape>
    MSDA_DEVICE QueryTile(const Shape& shape, int tile) {
        if constexpr (T::tile_height == 0) {
            first = tile * T::tile_width;
            columns = shape.queries() - first;
            rows = 1;
            pitch = 0;
        } else {
            // Each level divides by its own constant; the block agrees on the level.
            int row = 0, column = 0, height = 0, start = 0;
            bool found = false;
            pitch = 0;
#pragma unroll
            for (int l = T::levels - 1; l >= 0; l--)
                if (!found && tile >= shape.tile_first(l)) {
                    found = true;
                    row = (tile - shape.tile_first(l)) / shape.tiles_across(l);
                    column = (tile - shape.tile_first(l)) - row * shape.tiles_across(l);
                    height = shape.height(l);
                    pitch = shape.width(l);
                    start = shape.start(l);
                }
            rows = height - row * T::tile_height;
            columns = pitch - column * T::tile_width;
            first = start + row * T::tile_height * pitch + column * T::tile_width;
        }
    }
    // Query number `i` of the tile, or −1 past the edge.
    MSDA_DEVICE int query(int i) const {
        if constexpr (T::tile_height == 0) return i < columns ? first + i : -1;
        const int y = i / T::tile_width, x = i % T::tile_width;
        return y < rows && x < columns ? first + y * pitch + x : -1;
    }
};

// What one block of a tiled backward works on: one head of one image, the queries of one tile.
template <class T>
struct TileBlock {
    int image, head;
    QueryTile<T> tile;

    // Blocks count tiles innermost, then heads, then images.
    template <class Shape>
    MSDA_DEVICE explicit TileBlock(const Shape& shape)
        : image(static_cast<int>(block_index() / static_cast<u32>(shape.tiles()) / T::heads)),
          head(static_cast<int>(block_index() / static_cast<u32>(shape.tiles()) % T::heads)),
          tile(shape, static_cast<int>(block_index() % static_cast<u32>(shape.tiles()))) {}
    // Index of a query's row among (B, Q, M).
    template <class Shape>
    MSDA_DEVICE i64 row_index(const Shape& shape, int query) const {
        return (static_cast<i64>(image) * shape.queries() + query) * T::heads + head;
    }
};

// What one thread of a row-wise kernel (forward, direct backward) works on. A row is the D channels of one (image, query, head); `lanes` lanes
// share it, `split` such groups share its points. Adjacent in a warp: lanes, then heads, then splits, then queries. Heads adjacent in a warp
// matter: 64-byte rows of an even and an odd head lie in opposite halves of a 128-byte line and so fill both halves of the L1 data banks.
template <class T>
struct Row {
    int image, query, head, lane, part;
    bool active;

    // `block` counts blocks of this kind: tiles innermost, then head groups, then images.
    template <class Shape>
    MSDA_DEVICE Row(const Shape& shape, u32 block) {
        constexpr int head_blocks = (T::heads + T::block_heads - 1) / T::block_heads;
        int group = thread_index() / T::lanes;
        lane = thread_index() % T::lanes;
        const int head_in_block = group % T::block_heads;
        group /= T::block_heads;
        part = group % T::split;
        const u32 tile = block % static_cast<u32>(shape.tiles());
        block /= static_cast<u32>(shape.tiles());
        head = static_cast<int>(block % head_blocks) * T::block_heads + head_in_block;
        image = static_cast<int>(block / head_blocks);
        query = QueryTile<T>(shape, static_cast<int>(tile)).query(group / T::split);
        active = query >= 0 && head < T::heads;
        if (!active) query = 0, head = 0;
    }
    // Index of the row among (B, Q, M).
    template <class Shape>
    MSDA_DEVICE i64 index(const Shape& shape) const {
        return (static_cast<i64>(image) * shape.queries() + query) * T::heads + head;
    }
};

}  // namespace msda
