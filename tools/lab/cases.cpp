#include "tools/lab/cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/compare.hpp"
#include "runtime/emulation/emulator.hpp"
#include "runtime/numbers.hpp"
#include "tools/lab/checks.hpp"

namespace msda::lab {
namespace {

// "b=0 q=3 head=1 channel=7" of an element of one of the result tensors.
std::string place_of(const Problem& p, const std::string& tensor, std::int64_t at) {
    const std::int64_t points = p.total_points(), channels = p.head_dim, heads = p.heads;
    if (tensor == "grad_value")
        return fmt::format("b={} pixel={} head={} channel={}", at / channels / heads / p.pixels,
                           at / channels / heads % p.pixels, at / channels % heads, at % channels);
    const std::string inner = tensor == "output" ? fmt::format("channel={}", at % channels)
                              : tensor == "grad_weights"
                                  ? fmt::format("point={}", at % points)
                                  : fmt::format("point={} {}", at / 2 % points, at % 2 == 0 ? "x" : "y");
    const std::int64_t row = at / (tensor == "output" ? channels : tensor == "grad_weights" ? points : 2 * points);
    return fmt::format("b={} q={} head={} {}", row / heads / p.queries, row / heads % p.queries, row % heads, inner);
}

const std::vector<double>& tensor_of(const ReferenceResult& reference, std::string_view tensor) {
    if (tensor == "output") return reference.output;
    if (tensor == "grad_value") return reference.grad_value;
    return tensor == "grad_weights" ? reference.grad_weights : reference.grad_locations;
}

const void* memory_of(const Tensors& tensors, std::string_view tensor) {
    if (tensor == "output") return tensors.output;
    if (tensor == "grad_value") return tensors.grad_value;
    return tensor == "grad_weights" ? tensors.grad_weights : tensors.grad_locations;
}

Type type_of(const Problem& p, const std::string& tensor) {
    if (tensor == "output" || tensor == "grad_value") return p.value;
    return tensor == "grad_weights" ? p.weight : p.location;
}

bool suits(const Problem& p) {
    return p.value == Type::f32 && p.location == Type::f32 && p.weight == Type::f32 &&
           p.sampling == Sampling::bilinear && p.dense() && p.levels.size() <= LabShape::most_levels &&
           p.specialise == Specialise::exact;
}

}  // namespace

LabShape shape_of(const Problem& p) {
    LabShape shape{};
    const auto narrow = [](std::int64_t v) { return static_cast<int>(v); };
    shape.batch = narrow(p.batch);
    shape.queries = narrow(p.queries);
    shape.heads = narrow(p.heads);
    shape.channels = narrow(p.head_dim);
    shape.pixels = narrow(p.pixels);
    shape.levels = narrow(static_cast<std::int64_t>(p.levels.size()));
    for (std::size_t l = 0; l < p.levels.size(); l++) {
        shape.height[l] = narrow(p.levels[l].height);
        shape.width[l] = narrow(p.levels[l].width);
        shape.start[l] = narrow(p.levels[l].start);
        shape.points[l] = narrow(p.points[l]);
    }
    return shape;
}

Case::Case(std::string case_name, const Problem& p, cases::Scene scene)
    : name(std::move(case_name)), problem(p), shape(shape_of(p)), tensors(p, scene, 0) {}

std::vector<emulation::Extent> Case::memory() const { return emulation_extents(problem, Plan{}, tensors.tensors()); }

Case case_of(const std::string& name, const Problem& problem, cases::Scene scene) {
    return {name, normalise(problem), scene};
}

std::vector<Case> cases_of(Pass pass, bool hard) {
    std::vector<Case> all;
    const auto problems = pass == Pass::forward ? cases::forward_problems() : cases::backward_problems();
    for (cases::NamedProblem named : problems) {
        if (named.name == "ragged points") named.problem.value = named.problem.output = Type::f32;  // f16 in the table
        if (!suits(named.problem)) continue;
        const auto add = [&](cases::Scene scene) {
            all.emplace_back(fmt::format("{} ({} locations)", named.name, cases::name(scene)), named.problem, scene);
        };
        if (hard) {
            add(cases::Scene::hostile);
            add(cases::Scene::outside);
        } else {
            add(cases::Scene::model);
        }
    }
    return all;
}

void expect_reference(const Case& c, const std::vector<std::string>& only) {
    const ReferenceResult reference = compute_reference(c.problem, c.tensors.tensors(), 1);
    const Tensors& tensors = c.tensors.tensors();
    for (const char* tensor : {"output", "grad_value", "grad_locations", "grad_weights"}) {
        const std::vector<double>& expected = tensor_of(reference, tensor);
        if (expected.empty() || (!only.empty() && std::find(only.begin(), only.end(), tensor) == only.end())) continue;
        const void* got = memory_of(tensors, tensor);
        const Type type = type_of(c.problem, tensor);
        const Difference difference = compare(expected, type, got, 1);
        if (difference.within(tolerance(c.problem.pass, type))) continue;
        throw Failed(fmt::format("{}: {} at {}: expected {}, got {}", c.name, tensor,
                                 place_of(c.problem, tensor, difference.worst),
                                 number_text(expected[static_cast<std::size_t>(difference.worst)]),
                                 number_text(host::read(type, got, difference.worst))));
    }
}

}  // namespace msda::lab
