// Where levels, points and references lie.
#include "runtime/sampling.hpp"

namespace msda::host {

std::vector<Place> places(const Problem& problem) {
    std::vector<Place> all;
    std::int64_t first = 0;
    for (std::size_t l = 0; l < problem.levels.size(); l++) {
        const Level& level = problem.levels[l];
        all.push_back({level.height, level.width, level.start, first, problem.points[l]});
        first += problem.points[l];
    }
    return all;
}

std::int64_t reference_components(const Problem& problem) {
    if (problem.reference == Reference::none) return 0;
    return problem.reference == Reference::boxes ? 4 : 2;
}

std::int64_t references_per_query(const Problem& problem) {
    if (problem.reference == Reference::none) return 0;
    return problem.reference == Reference::pillars ? problem.pillars : problem.reference_levels;
}

}  // namespace msda::host
