#include "generator/geometry.hpp"

#include <algorithm>
#include <limits>

namespace msda {

Cut cut_of(const Problem& p, const Config& c) {
    Cut cut;
    cut.per_load = c.vector / static_cast<int>(bytes_of(p.value));
    const std::int64_t vectors = ceil_div(p.head_dim, cut.per_load);
    const std::int64_t chunks = ceil_div(vectors, c.lanes);
    // 32 sums a lane at most: more would push the loads in flight out of the registers.
    cut.chunks = static_cast<int>(std::min<std::int64_t>(chunks, std::max(1, 32 / cut.per_load)));
    cut.slices = static_cast<int>(ceil_div(chunks, cut.chunks));
    return cut;
}

int widest_vector(const Problem& p) {
    const auto size = static_cast<std::int64_t>(bytes_of(p.value));
    const auto [image, pixel, head] = p.strides();
    std::int64_t vector = std::min<std::int64_t>(16, p.alignment);
    const auto divides = [&](std::int64_t bytes) { return bytes % vector == 0; };
    while (vector > size &&
           !(divides(p.head_dim * size) && divides(image * size) && divides(pixel * size) && divides(head * size)))
        vector /= 2;
    return static_cast<int>(std::max(vector, size));
}

bool wide(const Problem& p) {
    const auto [image, pixel, head] = p.strides();
    // Corner (−1, −1) of the first and (W, H) of the last pixel must stay inside 31 bits too.
    std::int64_t widest = 0;
    for (const Level& level : p.levels) widest = std::max(widest, level.width);
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (pixel > most || head > most) return true;  // and the product below cannot overflow
    const std::int64_t span = (p.pixels + 2 * widest + 2) * pixel + p.heads * head + p.head_dim;
    return span > most / static_cast<std::int64_t>(std::max<std::size_t>(bytes_of(p.value), 4));
}

Tiles tiles_of(const Problem& p, const Config& c) {
    Tiles tiles;
    if (c.tile_height == 0) {
        tiles.total = ceil_div(p.queries, c.tile_width);
        return tiles;
    }
    for (const Level& level : p.levels) {
        tiles.first.push_back(tiles.total);
        tiles.across.push_back(ceil_div(level.width, c.tile_width));
        tiles.total += tiles.across.back() * ceil_div(level.height, c.tile_height);
    }
    return tiles;
}

std::int64_t largest_level(const Problem& p) {
    std::int64_t most = 0;
    for (const Level& level : p.levels) most = std::max(most, level.height * level.width);
    return most;
}

int queries_a_block(const Config& c) { return c.tile_width * std::max(1, c.tile_height); }

int row_threads(const Config& c) {
    const std::int64_t threads = static_cast<std::int64_t>(queries_a_block(c)) * c.split * c.heads * c.lanes;
    return static_cast<int>(std::min<std::int64_t>(threads, std::numeric_limits<int>::max()));
}

}  // namespace msda
