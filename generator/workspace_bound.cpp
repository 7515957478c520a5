// How much workspace any problem up to a given size can need: the sums of backward.cpp, each replaced by a bound that
// grows with B, Q and the levels' pixels, so that the largest problem bounds all smaller ones.
#include <algorithm>
#include <cmath>

#include "generator/backward.hpp"
#include "generator/fusion.hpp"
#include "msda/workspace.hpp"

namespace msda {
namespace {

// Pixels of one level's partial sums: its pixels times its chunks, which ownership_of makes at most Q/64 and at most
// visits / visits_a_block.
double partial_pixels(double pixels, double queries, double points, int cells) {
    const double visits = 4.0 * queries * points * std::min<double>(cells, pixels);
    return std::max(pixels, std::min(visits / static_cast<double>(visits_a_block), pixels * queries / 64));
}

std::size_t owned_bound(const Problem& p, int cells) {
    double pixels = 0;
    for (std::size_t l = 0; l < p.levels.size(); l++)
        pixels += std::ceil(partial_pixels(static_cast<double>(p.levels[l].height * p.levels[l].width),
                                           static_cast<double>(p.queries), static_cast<double>(p.points[l]), cells));
    const std::size_t sum_bytes = p.value == Type::f64 ? 8 : 4;
    return static_cast<std::size_t>(p.batch * p.heads * p.head_dim) * static_cast<std::size_t>(pixels) * sum_bytes;
}

std::size_t scratch_bound(const Problem& p) {
    return static_cast<std::size_t>(p.batch * p.pixels * p.heads * p.head_dim) * sizeof(float);
}

bool sums_grad_value(const Problem& p) { return p.pass == Pass::backward && p.gradients.value && !p.empty(); }

std::size_t sums_bound(const Problem& p, const Config& config) {
    if (!sums_grad_value(p)) return 0;
    if (config.scatter == scatter_owned) return owned_bound(p, config.kept > 0 ? 1 : config.cells);
    return sums_in_scratch(p, config) ? scratch_bound(p) : 0;
}

std::size_t sums_bound(const Problem& p) {
    if (!sums_grad_value(p)) return 0;
    Config scattered;
    scattered.scatter = scatter_direct;
    return std::max(owned_bound(p, most_cells), sums_bound(p, scattered));
}

std::size_t with_fusion(const Problem& p, std::size_t sums) {
    const std::size_t added = p.empty() ? 0 : fusion_bytes(p);
    return added > 0 ? fusion_begin(sums) + added : sums;
}

}  // namespace

std::size_t workspace_bound(const Problem& largest, const Config& config) {
    return with_fusion(largest, sums_bound(largest, config));
}

std::size_t workspace_bound(const Problem& largest) { return with_fusion(largest, sums_bound(largest)); }

}  // namespace msda
