#include "generator/fusion.hpp"

#include <algorithm>
#include <optional>

#include "generator/geometry.hpp"

namespace msda {
namespace {

constexpr std::size_t part_alignment = 256;

Type sum_type(const Problem& p) { return p.value == Type::f64 ? Type::f64 : Type::f32; }

// Offsets in the added part of the workspace; none where the caller's own tensor serves.
struct Parts {
    std::optional<std::size_t> locations, weights, grad_locations, grad_weights;
    std::size_t bytes = 0;
};

Parts parts_of(const Problem& p) {
    Parts parts;
    const Sizes size = sizes(p);
    const auto add = [&](bool wanted, std::int64_t elements) -> std::optional<std::size_t> {
        if (!wanted) return std::nullopt;
        const std::size_t begin = parts.bytes;
        parts.bytes = fusion_begin(begin + static_cast<std::size_t>(elements) * bytes_of(sum_type(p)));
        return begin;
    };
    const bool located = p.reference != Reference::none;
    parts.locations = add(located, size.locations);
    parts.weights = add(p.softmax, size.weights);
    parts.grad_locations = add(located && p.gradients.location, size.locations);
    parts.grad_weights = add(p.softmax && p.gradients.weight, size.weights);
    return parts;
}

Kernel around(const Problem& p, std::string_view name, std::string_view function,
              std::vector<KernelArgument> arguments) {
    constexpr std::int64_t threads = 256;  // fused_threads of templates/backward_fused.cuh: a warp a query
    Kernel k;
    k.name = name;
    k.function = function;
    k.file = "backward_fused.cuh";
    k.arguments = std::move(arguments);
    k.threads = threads;
    k.blocks = ceil_div(p.batch * p.queries, threads / 32);
    return k;
}

}  // namespace

bool fused(const Problem& p) { return p.softmax || p.reference != Reference::none; }

Problem unfused(const Problem& p) {
    Problem ordinary = p;
    if (p.softmax) ordinary.weight = sum_type(p);
    if (p.reference != Reference::none) ordinary.location = sum_type(p);
    ordinary.softmax = false;
    ordinary.reference = Reference::none;
    ordinary.reference_levels = ordinary.pillars = 0;
    return ordinary;
}

std::size_t fusion_begin(std::size_t workspace_bytes) {
    return (workspace_bytes + part_alignment - 1) / part_alignment * part_alignment;
}

std::size_t fusion_bytes(const Problem& p) {
    const bool wanted = p.gradients.value || p.gradients.location || p.gradients.weight;
    return p.pass == Pass::backward && wanted ? parts_of(p).bytes : 0;
}

std::vector<Kernel> add_fusion(const Problem& p, std::vector<Kernel> ordinary, std::size_t workspace_bytes) {
    if (ordinary.empty()) return ordinary;
    constexpr std::string_view input = "const void*", result = "void*";
    const Parts parts = parts_of(p);
    const auto slot = [&](const std::optional<std::size_t>& part, Buffer own) {
        return part ? Slot{Buffer::workspace, fusion_begin(workspace_bytes) + *part} : Slot{own};
    };
    const Slot locations = slot(parts.locations, Buffer::locations), weights = slot(parts.weights, Buffer::weights),
               grad_locations = slot(parts.grad_locations, Buffer::grad_locations),
               grad_weights = slot(parts.grad_weights, Buffer::grad_weights);
    for (Kernel& kernel : ordinary)
        for (KernelArgument& argument : kernel.arguments) {
            const Slot given = argument.slot;
            for (const auto& [own, there] :
                 {std::pair{Buffer::locations, locations}, std::pair{Buffer::weights, weights},
                  std::pair{Buffer::grad_locations, grad_locations}, std::pair{Buffer::grad_weights, grad_weights}})
                if (given == Slot{own}) argument.slot = there;
        }
    ordinary.insert(ordinary.begin(), around(p, "msda_fused_points", "write_fused_points",
                                             {{input, {Buffer::locations}},
                                              {input, {Buffer::weights}},
                                              {input, {Buffer::references}},
                                              {result, locations},
                                              {result, weights}}));
    if (parts.grad_locations || parts.grad_weights)
        ordinary.push_back(around(p, "msda_fused_gradients", "write_fused_gradients",
                                  {{input, {Buffer::locations}},
                                   {input, {Buffer::references}},
                                   {input, weights},
                                   {input, grad_locations},
                                   {input, grad_weights},
                                   {result, {Buffer::grad_locations}},
                                   {result, {Buffer::grad_weights}},
                                   {result, {Buffer::grad_references}}}));
    return ordinary;
}

}  // namespace msda
