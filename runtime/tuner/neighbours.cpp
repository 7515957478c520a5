// Coordinates of configs, and the nearest along each.
#include "runtime/tuner/neighbours.hpp"

#include <algorithm>

#include "generator/geometry.hpp"

namespace msda {
namespace {

std::vector<int> coordinates_of(const Config& config) {
    Config c = config;
    const int threads = c.scatter == scatter_sorted ? c.threads : row_threads(c);
    if (c.scatter != scatter_sorted) c.threads = 0;
    // Whole blocks fill an SM only roughly; in steps of 256 threads configs of one intent meet.
    c.min_blocks = std::min(static_cast<int>(ceil_div(static_cast<std::int64_t>(c.min_blocks) * threads, 256)), 6);
    std::vector<int> coordinates;
    for (const ConfigField& field : config_fields()) coordinates.push_back(c.*field.member);
    return coordinates;
}

}  // namespace

Neighbours::Neighbours(std::span<const Config> configs) {
    for (const Config& config : configs) coordinates_.push_back(coordinates_of(config));
}

std::vector<int> Neighbours::of(int config) const {
    const std::vector<int>& here = coordinates_[static_cast<std::size_t>(config)];
    struct Nearest {
        int below = -1;
        int above = -1;
    };
    std::vector<Nearest> nearest(here.size());
    for (std::size_t i = 0; i < coordinates_.size(); i++) {
        const std::vector<int>& there = coordinates_[i];
        const auto [at, other] = std::ranges::mismatch(here, there);
        if (at == here.end() || !std::equal(at + 1, here.end(), other + 1)) continue;
        Nearest& slot = nearest[static_cast<std::size_t>(at - here.begin())];
        int& side = *other < *at ? slot.below : slot.above;
        const auto axis = static_cast<std::size_t>(at - here.begin());
        const auto value_of = [&](int number) { return coordinates_[static_cast<std::size_t>(number)][axis]; };
        if (side < 0 || std::abs(*other - *at) < std::abs(value_of(side) - *at)) side = static_cast<int>(i);
    }
    std::vector<int> neighbours;
    for (const Nearest& slot : nearest)
        for (const int number : {slot.below, slot.above})
            if (number >= 0) neighbours.push_back(number);
    return neighbours;
}

}  // namespace msda
