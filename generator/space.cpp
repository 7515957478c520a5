// The configs worth trying, built from a few axes a kernel family and filtered by why_not.
#include <algorithm>
#include <set>
#include <utility>

#include "generator/backward.hpp"
#include "generator/geometry.hpp"
#include "msda/config.hpp"

namespace msda {
namespace {

// Collects configs that can run, each once, in the order they come.
class Candidates {
  public:
    Candidates(const Problem& problem, const Silicon& silicon) : problem_(problem), silicon_(silicon) {}

    void add(const Config& c) {
        if (seen_.insert(canonical(c)).second && why_not(problem_, c, silicon_).empty()) configs_.push_back(c);
    }
    std::vector<Config> take() { return std::move(configs_); }

  private:
    const Problem& problem_;
    const Silicon& silicon_;
    std::set<std::string> seen_;
    std::vector<Config> configs_;
};

// Query tiles: in memory order, and rectangles of the level for encoders.
std::vector<std::pair<int, int>> tile_shapes(const Problem& p) {
    std::vector<std::pair<int, int>> shapes;
    if (p.encoder_like())
        for (const auto& shape : {std::pair{4, 4}, {8, 4}, {8, 8}, {16, 4}, {16, 8}, {4, 8}}) shapes.push_back(shape);
    for (const int width : {1, 2, 4, 8, 16, 32, 64}) shapes.emplace_back(width, 0);
    return shapes;
}

template <class Visit>
void row_axes(const Problem& p, const Config& start, Visit visit) {
    for (const int heads : {1, 2, 4, 8})
        for (const int lanes : {start.lanes, start.lanes / 2})
            for (const int split : {1, 2, 4, 8})
                for (const auto& [width, height] : tile_shapes(p)) {
                    Config c = start;
                    if (lanes < 1 || heads > p.heads || split * 2 > p.total_points()) continue;
                    c.heads = heads, c.lanes = lanes, c.split = split, c.tile_width = width, c.tile_height = height;
                    const int threads = row_threads(c);
                    if (threads < 64 || threads > 512) continue;
                    visit(c);
                }
}

void forward_space(const Problem& p, const Silicon& s, const Config& start, Candidates& out) {
    row_axes(p, start, [&](Config c) {
        for (const int staging : {0, 1})
            for (const int unroll : {1, 2, 4})
                for (const int threads : {0, 768, 1024, 1280, 1536}) {
                    c.staging = staging, c.unroll = unroll;
                    c.min_blocks = threads / row_threads(c);
                    if (threads > 0 && (c.min_blocks == 0 || threads > s.threads_per_sm)) continue;
                    const std::int64_t rounds = ceil_div(ceil_div(p.total_points(), c.split), c.lanes);
                    if (unroll > 1 && unroll / 2 >= rounds) continue;  // the same kernel as the smaller one
                    out.add(c);
                }
    });
}

void direct_space(const Problem& p, const Config& start, Candidates& out) {
    row_axes(p, start, [&](Config c) {
        c.scatter = scatter_direct;
        for (const int threads : {0, 512, 1024}) {
            c.min_blocks = threads / row_threads(c);
            out.add(c);
        }
    });
}

void sorted_space(const Problem& p, const Config& start, Candidates& out) {
    Config c = start;
    c.scatter = scatter_sorted;
    c.split = c.heads = 1;
    for (const auto& [width, height] : {std::pair{8, 8}, {16, 8}, {16, 16}, {32, 8}, {64, 0}, {128, 0}, {256, 0}})
        for (const int threads : {128, 256, 512})
            for (const int cells : {512, 1024, 2048, 4096})
                for (const int levels : {1, 2, static_cast<int>(p.levels.size())})
                    for (const int on_sm : {0, 768, 1024, 1280}) {
                        c.tile_width = width, c.tile_height = height, c.threads = threads, c.cells = cells,
                        c.levels_per_pass = levels;
                        c.min_blocks = on_sm / threads;
                        if (on_sm > 0 && c.min_blocks == 0) continue;
                        out.add(c);
                    }
}

void dense_space(const Problem& p, const Config& start, Candidates& out) {
    Config c = start;
    c.scatter = scatter_dense;
    c.split = c.heads = 1;
    for (const auto& [width, height] : {std::pair{4, 4}, {8, 4}, {8, 8}, {16, 4}, {16, 0}, {32, 0}, {64, 0}})
        for (const int owners : {1, 2, 4}) {
            if (height > 0 && !p.encoder_like()) continue;
            for (const int cells : {32, 64, 96, 128})
                for (const int on_sm : {0, 640, 768, 896, 1024}) {
                    c.tile_width = width, c.tile_height = height, c.cells = cells;
                    c.threads = width * std::max(1, height) * owners;
                    c.min_blocks = on_sm / c.threads;
                    if (on_sm > 0 && c.min_blocks == 0) continue;
                    out.add(c);
                }
        }
}

// Pixels a block owns: powers of two where their sums lie in shared memory, else the largest level in equal ranges.
std::vector<std::int64_t> cells_to_try(const Problem& p, bool once) {
    if (!once) return {64, 128, 256, 512, 1024, 2048, 4096, 8192};
    std::vector<std::int64_t> cells;
    for (const int ranges : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32}) cells.push_back(ceil_div(largest_level(p), ranges));
    return cells;
}

void owned_space(const Problem& p, const Config& start, Candidates& out) {
    row_axes(p, start, [&](Config c) {
        c.scatter = scatter_owned;
        c.threads = row_threads(c);
        for (const int kept : {0, kept_points(p)})
            for (const std::int64_t cells : cells_to_try(p, kept > 0))
                for (const int on_sm : {0, 1024}) {
                    c.cells = static_cast<int>(cells), c.kept = kept, c.min_blocks = on_sm / c.threads;
                    if (on_sm > 0 && c.min_blocks == 0) continue;
                    out.add(c);
                }
    });
}

}  // namespace

std::vector<Config> space(const Problem& p, const Silicon& s) {
    const Config start = default_config(p, s);
    Candidates out(p, s);
    out.add(start);
    if (p.empty()) return out.take();
    Config axes = start;
    axes.min_blocks = 0;
    if (p.pass == Pass::forward) {
        forward_space(p, s, axes, out);
        return out.take();
    }
    if (p.accumulate != Accumulate::deterministic) {
        direct_space(p, axes, out);
        if (p.gradients.value) sorted_space(p, axes, out);
        if (p.gradients.value) dense_space(p, axes, out);
    }
    if (p.gradients.value) owned_space(p, axes, out);
    return out.take();
}

}  // namespace msda
