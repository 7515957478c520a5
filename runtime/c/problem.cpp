// Problems of the C interface: fields or text in, a normalised msda::Problem behind a handle.
#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "msda/workspace.hpp"
#include "runtime/c/boundary.hpp"
#include "runtime/c/handles.hpp"

namespace msda::c {
namespace {

[[noreturn]] void refuse(std::string_view field, std::int64_t most, std::int64_t got) {
    throw Error(Code::invalid_problem, fmt::format("{}: expected 0 to {}, got {}", field, most, got));
}

template <class Enum>
Enum choice(std::string_view field, std::int32_t value, Enum last) {
    if (value < 0 || value > static_cast<std::int32_t>(last)) refuse(field, static_cast<std::int32_t>(last), value);
    return static_cast<Enum>(value);
}

// An array of the caller's: `count` groups of numbers, at most as many as any problem can have.
void check_array(std::string_view field, std::int64_t count, const std::int64_t* numbers) {
    if (count < 0 || count > 4096) refuse(fmt::format("count of {}", field), 4096, count);
    if (count > 0 && numbers == nullptr)
        throw Error(Code::invalid_argument, fmt::format("{}: expected {} entries, got null", field, count));
}

std::vector<Level> levels_of(const msda_problem_fields& f) {
    check_array("level_shapes", f.level_count, f.level_shapes);
    std::vector<Level> levels;
    for (std::int64_t l = 0; l < f.level_count; l++)
        levels.push_back(
            {f.level_shapes[2 * l], f.level_shapes[2 * l + 1], f.level_starts != nullptr ? f.level_starts[l] : -1});
    return levels;
}

Gradients gradients_of(std::int32_t mask) {
    constexpr std::int32_t all = MSDA_GRADIENT_VALUE | MSDA_GRADIENT_LOCATION | MSDA_GRADIENT_WEIGHT;
    if (mask < 0 || mask > all) refuse("gradients", all, mask);
    if (mask == 0) mask = all;
    return {(mask & MSDA_GRADIENT_VALUE) != 0, (mask & MSDA_GRADIENT_LOCATION) != 0,
            (mask & MSDA_GRADIENT_WEIGHT) != 0};
}

Problem problem_of(const msda_problem_fields& f) {
    Problem p;
    p.pass = choice("pass", f.pass, Pass::backward);
    p.batch = f.batch;
    p.queries = f.queries;
    p.heads = f.heads;
    p.head_dim = f.head_dim;
    p.pixels = f.pixels;
    p.levels = levels_of(f);
    check_array("points", f.point_count, f.points);
    p.points.assign(f.points, f.points + f.point_count);
    p.value = choice("value_type", f.value_type, Type::e4m3);
    p.location = choice("location_type", f.location_type, Type::e4m3);
    p.weight = choice("weight_type", f.weight_type, Type::e4m3);
    p.output = choice("output_type", f.output_type, Type::e4m3);
    p.sampling = choice("sampling", f.sampling, Sampling::rtdetrv2_square);
    if (f.softmax != 0 && f.softmax != 1) refuse("softmax", 1, f.softmax);
    p.softmax = f.softmax == 1;
    p.reference = choice("reference", f.reference, Reference::pillars);
    p.reference_levels = f.reference_levels;
    p.pillars = f.pillars;
    p.gradients = gradients_of(f.gradients);
    p.accumulate = choice("accumulate", f.accumulate, Accumulate::deterministic);
    for (std::size_t i = 0; i < 3; i++) p.value_strides[i] = f.value_strides[i];
    if (f.alignment != 0) p.alignment = f.alignment;
    p.specialise = choice("specialise", f.specialise, Specialise::family);
    if (f.reserved != 0) refuse("reserved", 0, f.reserved);
    return normalise(std::move(p));
}

msda_problem* handle_of(Problem problem) {
    std::string text = canonical(problem);
    return new msda_problem{std::move(problem), std::move(text)};
}

}  // namespace
}  // namespace msda::c

using namespace msda;

msda_status msda_problem_create(const msda_problem_fields* fields, msda_problem** problem) {
    return c::guarded([&] {
        c::require(problem, "problem");
        *problem = nullptr;
        *problem = c::handle_of(c::problem_of(c::read_struct(fields, "fields")));
    });
}

msda_status msda_problem_parse(const char* text, msda_problem** problem) {
    return c::guarded([&] {
        c::require(problem, "problem");
        *problem = nullptr;
        c::require(text, "text");
        *problem = c::handle_of(parse_problem(text));
    });
}

void msda_problem_destroy(msda_problem* problem) { delete problem; }
const char* msda_problem_text(const msda_problem* problem) { return problem != nullptr ? problem->text.c_str() : ""; }

msda_status msda_problem_sizes(const msda_problem* problem, msda_sizes* result) {
    return c::guarded([&] {
        c::require(problem, "problem");
        const msda_sizes given = c::read_struct(result, "sizes");
        const Problem& p = problem->problem;
        const Sizes s = sizes(p);
        const msda_sizes all{given.struct_size, s.value,   p.batch * p.pixels * p.heads * p.head_dim,
                             s.locations,       s.weights, s.output,
                             s.references};
        std::memcpy(result, &all, std::min(given.struct_size, sizeof all));
    });
}

msda_status msda_workspace_bound(const msda_problem* largest, const char* config, size_t* bytes) {
    return c::guarded([&] {
        c::require(bytes, "bytes");
        *bytes = 0;
        c::require(largest, "largest");
        *bytes = config != nullptr ? workspace_bound(largest->problem, parse_config(config))
                                   : workspace_bound(largest->problem);
    });
}
