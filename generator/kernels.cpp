#include "generator/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/backward.hpp"
#include "generator/fusion.hpp"
#include "generator/geometry.hpp"

namespace msda {
namespace {

// Shared memory of a staged forward: templates/stage.cuh, SharedStage::warp_bytes.
std::int64_t stage_bytes(const Problem& p, const Config& c, std::int64_t threads) {
    if (c.staging == 0) return 0;
    const std::int64_t steps = ceil_div(p.total_points(), c.split);
    const std::int64_t rounds = std::min<std::int64_t>(ceil_div(steps, c.lanes), c.unroll);
    const std::int64_t numbers = p.sampling == Sampling::bilinear ? 3 : 1, sum_bytes = p.value == Type::f64 ? 8 : 4;
    const std::int64_t apart = c.lanes == 1 || c.lanes == 32 ? 0 : std::max(1, 8 / c.lanes);
    return threads / 32 * rounds * c.lanes * (32 / c.lanes + apart) * (numbers * sum_bytes + 4);
}

Kernel forward_kernel(const Problem& p, const Config& c) {
    Kernel k;
    k.name = "msda_forward";
    k.function = "forward";
    k.file = "forward.cuh";
    k.arguments = {{input_type, {Buffer::value}},
                   {input_type, {Buffer::locations}},
                   {input_type, {Buffer::weights}},
                   {"const float*", {Buffer::scales}},
                   {result_type, {Buffer::output}}};
    if (fused(p)) {
        k.function = "forward_fused";
        k.file = "forward_fused.cuh";
        k.arguments.insert(k.arguments.begin() + 3, {input_type, {Buffer::references}});
    }
    k.threads = row_threads(c);
    k.blocks = p.batch * ceil_div(p.heads, c.heads) * tiles_of(p, c).total * cut_of(p, c).slices;
    k.shared_bytes = stage_bytes(p, c, k.threads);
    k.min_blocks = c.min_blocks;
    return k;
}

}  // namespace

std::vector<Kernel> oracle_kernels(const Problem& p) {
    constexpr std::int64_t threads = 256;
    const auto kernel = [&](std::string_view function, std::int64_t elements, std::vector<KernelArgument> rest) {
        Kernel k;
        k.name = fmt::format("msda_{}", function);
        k.function = function;
        k.file = "oracle.cuh";
        k.arguments = {
            {input_type, {Buffer::value}}, {input_type, {Buffer::locations}}, {input_type, {Buffer::weights}}};
        k.arguments.insert(k.arguments.end(), rest.begin(), rest.end());
        k.threads = threads;
        k.blocks = ceil_div(elements, threads);
        return k;
    };
    const Sizes size = sizes(p);
    if (p.pass == Pass::forward)
        return {kernel("oracle_forward", size.output,
                       {{"const float*", {Buffer::scales}}, {result_type, {Buffer::output}}})};
    return {kernel("oracle_grad_value", size.output,
                   {{input_type, {Buffer::grad_output}}, {result_type, {Buffer::grad_value}}}),
            kernel("oracle_grad_points", size.weights,
                   {{input_type, {Buffer::grad_output}},
                    {result_type, {Buffer::grad_locations}},
                    {result_type, {Buffer::grad_weights}}})};
}

std::vector<Kernel> kernels(const Problem& p, const Config& c) {
    if (p.pass == Pass::forward) return {forward_kernel(p, c)};
    std::vector<Kernel> ordinary = backward_kernels(unfused(p), c);
    return fused(p) ? add_fusion(p, std::move(ordinary), backward_scratch(p, c).workspace_bytes) : ordinary;
}

std::string backward_traits(const Problem& p, const Config& c) {
    return p.pass == Pass::forward ? std::string() : backward_constants(p, c);
}

Scratch scratch(const Problem& p, const Config& c) {
    if (p.pass == Pass::forward) return {};
    Scratch all = backward_scratch(p, c);
    if (const std::size_t added = fusion_bytes(p); added > 0)
        all.workspace_bytes = fusion_begin(all.workspace_bytes) + added;
    return all;
}

}  // namespace msda
