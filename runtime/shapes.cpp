// Look-up by id, with a hint for a misspelt one.
#include "runtime/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "msda/error.hpp"
#include "runtime/shapes_table.hpp"

namespace msda {
namespace {

// Levenshtein's distance: insertions, deletions and replacements from a to b.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); i++) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); j++) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

std::vector<std::string_view> closest(std::string_view id) {
    std::vector<std::pair<std::size_t, std::string_view>> ranked;
    for (const ModelShape& shape : model_shapes()) {
        const bool related = !id.empty() && (shape.id.starts_with(id) || id.starts_with(shape.id));
        ranked.emplace_back(related ? 0 : distance(id, shape.id), shape.id);
    }
    std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string_view>::first);
    std::vector<std::string_view> ids;
    for (std::size_t i = 0; i < 4; i++) ids.push_back(ranked[i].second);
    return ids;
}

}  // namespace

std::span<const ModelShape> model_shapes() { return shapes_table(); }

const ModelShape& model_shape(std::string_view id) {
    const auto shapes = model_shapes();
    const auto found = std::ranges::find(shapes, id, &ModelShape::id);
    if (found != shapes.end()) return *found;
    // A name that no table holds may be long; it is quoted up to a line's length.
    throw Error(Code::invalid_problem,
                fmt::format("shape '{}': no such shape; close ones: {} (all {}: msda shapes)", id.substr(0, 64),
                            fmt::join(closest(id.substr(0, 64)), ", "), shapes.size()));
}

Problem problem_of(const ModelShape& shape, Pass pass, Type value, Type location, Type weight) {
    Problem problem;
    problem.pass = pass;
    problem.batch = shape.batch;
    problem.queries = shape.queries;
    problem.heads = shape.heads;
    problem.head_dim = shape.head_dim;
    problem.levels = shape.levels;
    problem.points = shape.points;
    problem.value = value;
    problem.location = location;
    problem.weight = weight;
    problem.output = value == Type::e4m3 ? Type::f16 : value;
    problem.sampling = shape.sampling;
    return normalise(problem);
}

Problem problem_of(const ModelShape& shape, Pass pass, Type value) {
    return problem_of(shape, pass, value, value == Type::f64 ? Type::f64 : Type::f32,
                      value == Type::e4m3 ? Type::f16 : value);
}

}  // namespace msda
