// Shipped shapes by their sizes, other problems by their numbers.
#include "tools/cli/problem_title.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "msda/error.hpp"
#include "runtime/shapes.hpp"

namespace msda::cli {
namespace {

// All that a shape of the table fixes; types, pass and accumulator are its user's.
bool is_shape(const Problem& p, const ModelShape& shape) {
    const Problem of_shape = problem_of(shape, p.pass, p.value);
    return p.batch == of_shape.batch && p.queries == of_shape.queries && p.heads == of_shape.heads &&
           p.head_dim == of_shape.head_dim && p.levels == of_shape.levels && p.points == of_shape.points &&
           p.sampling == of_shape.sampling && p.softmax == of_shape.softmax && p.reference == of_shape.reference &&
           p.dense();
}

std::string sizes_of(const Problem& p) {
    std::string levels;
    for (const Level& level : p.levels)
        levels += fmt::format("{}{}x{}", levels.empty() ? "" : ",", level.height, level.width);
    return fmt::format("B={} Q={} M={} D={} {} P={}", p.batch, p.queries, p.heads, p.head_dim, levels,
                       fmt::join(p.points, ","));
}

}  // namespace

std::string title_of(const std::string& problem) {
    try {
        const Problem p = parse_problem(problem);
        const std::string kind = fmt::format("{} {}", name(p.pass), name(p.value));
        for (const ModelShape& shape : model_shapes())
            if (is_shape(p, shape)) return fmt::format("{} {}", shape.id, kind);
        return fmt::format("{} {}", kind, sizes_of(p));
    } catch (const Error&) {
        return problem;
    }
}

}  // namespace msda::cli
