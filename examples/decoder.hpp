// The problem that several examples share: Deformable DETR's decoder, and inputs whose result is plain to see. With one value everywhere,
// locations well inside the maps and weights that add up to 1, every output is that value.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

#include "place.hpp"

namespace example {

inline msda::Problem decoder(std::int64_t batch = 1, std::int64_t queries = 300,
                             std::vector<msda::Level> levels = {{100, 134}, {50, 67}, {25, 34}, {13, 17}}) {
    msda::Problem problem;
    problem.batch = batch;
    problem.queries = queries;
    problem.levels = std::move(levels);
    return msda::normalise(problem);
}

// The tensors of a forward, filled.
struct Tensors {
    Tensors(const Place& place, const msda::Problem& problem, float everywhere)
        : sizes(msda::sizes(problem)),
          value(place, filled(sizes.value, everywhere)),
          locations(place, filled(sizes.locations, 0.5f)),
          weights(place, filled(sizes.weights, 1.0f / static_cast<float>(problem.total_points()))),
          output(place, filled(sizes.output, -1.0f)) {}

    static std::vector<float> filled(std::int64_t count, float with) {
        return std::vector<float>(static_cast<std::size_t>(count), with);
    }
    msda::Tensors get() {
        return {.value = value.get(), .locations = locations.get(), .weights = weights.get(), .output = output.get()};
    }
    // Call it when the launches are done.
    bool output_is(float wanted) const {
        for (const float got : output.read())
            if (!(std::fabs(got - wanted) <= 1e-5f * std::fabs(wanted))) return false;
        return true;
    }

    msda::Sizes sizes;
    Array value, locations, weights, output;
};

// The last line and exit status of an example.
inline int verdict(const Place& place, bool right) {
    std::printf("%s: %s\n", place.name(), right ? "right" : "WRONG");
    return right ? 0 : 1;
}

}  // namespace example
