// The tensors' shapes as NumPy sees them.
#include "runtime/tensor_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "runtime/npy.hpp"

namespace msda {
namespace {

using Shape = std::vector<std::int64_t>;

Shape value_shape(const Problem& p) {
    if (!p.dense()) return {sizes(p).value};
    return {p.batch, p.pixels, p.heads, p.head_dim};
}

Shape weights_shape(const Problem& p) {
    const bool even = std::ranges::all_of(p.points, [&](std::int64_t count) { return count == p.points.front(); });
    if (!even) return {p.batch, p.queries, p.heads, p.total_points()};
    return {p.batch, p.queries, p.heads, static_cast<std::int64_t>(p.levels.size()), p.points.front()};
}

Shape locations_shape(const Problem& p) {
    Shape shape = weights_shape(p);
    shape.push_back(2);
    return shape;
}

Shape references_shape(const Problem& p) {
    const std::int64_t components = p.reference == Reference::boxes ? 4 : 2;
    return {p.batch, p.queries, p.reference == Reference::pillars ? p.pillars : p.reference_levels, components};
}

Shape output_shape(const Problem& p) { return {p.batch, p.queries, p.heads, p.head_dim}; }

// Calls visit(name, buffer, type, shape) for each tensor that a problem reads.
template <class Some, class Visit>
void each_input(const Problem& p, Some& inputs, const Visit& visit) {
    visit("value", inputs.value, p.value, value_shape(p));
    visit("locations", inputs.locations, p.location, locations_shape(p));
    visit("weights", inputs.weights, p.weight, weights_shape(p));
    if (p.reference != Reference::none) visit("references", inputs.references, p.location, references_shape(p));
    if (p.value == Type::e4m3) visit("scales", inputs.scales, Type::f32, Shape{p.heads});
    if (p.pass == Pass::backward) visit("grad_output", inputs.grad_output, p.output, output_shape(p));
}

auto writer(const std::filesystem::path& directory) {
    return [&directory](const char* name, const HostBuffer& buffer, Type type, const Shape& shape) {
        write_npy(directory / fmt::format("{}.npy", name), type, shape, buffer.data());
    };
}

}  // namespace

Inputs load_inputs(const std::filesystem::path& directory, const Problem& problem) {
    Inputs inputs;
    each_input(problem, inputs, [&](const char* name, HostBuffer& buffer, Type type, const Shape& shape) {
        buffer = read_npy(directory / fmt::format("{}.npy", name), type, shape);
    });
    return inputs;
}

void save_inputs(const std::filesystem::path& directory, const Problem& problem, const Inputs& inputs) {
    each_input(problem, inputs, writer(directory));
}

void save_arrays(const std::filesystem::path& directory, const Problem& p, const Inputs& inputs,
                 const Outputs& outputs) {
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure)
        throw Error(Code::io_failed, fmt::format("{}: cannot be made: {}", directory.string(), failure.message()));
    const auto write = writer(directory);
    each_input(p, inputs, write);
    if (p.pass == Pass::forward) return write("output", outputs.output, p.output, output_shape(p));
    if (p.gradients.value) write("grad_value", outputs.grad_value, p.value, {p.batch, p.pixels, p.heads, p.head_dim});
    if (p.gradients.location) write("grad_locations", outputs.grad_locations, p.location, locations_shape(p));
    if (p.gradients.weight) write("grad_weights", outputs.grad_weights, p.weight, weights_shape(p));
    if (p.gradients.location && p.reference != Reference::none)
        write("grad_references", outputs.grad_references, p.location, references_shape(p));
}

}  // namespace msda
