#include "generator/plan.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "generator/backward.hpp"
#include "generator/geometry.hpp"
#include "generator/kernels.hpp"
#include "generator/oracle.hpp"
#include "msda/error.hpp"

namespace msda {
namespace {

// Appends fields in the order and with the padding of FamilyShape (templates/shape.cuh).
class ShapeBytes {
  public:
    void put64(std::int64_t v) { append(&v, sizeof v); }
    void put32(std::int64_t v) {
        const auto narrow = static_cast<std::int32_t>(v);
        append(&narrow, sizeof narrow);
    }
    std::vector<std::byte> finish() {
        bytes_.resize((bytes_.size() + 7) / 8 * 8);
        return std::move(bytes_);
    }

  private:
    void append(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    std::vector<std::byte> bytes_;
};

std::vector<std::byte> family_shape(const Problem& p, const Config& c) {
    ShapeBytes bytes;
    for (const std::int64_t stride : p.strides()) bytes.put64(stride);
    const Tiles tiles = tiles_of(p, c);
    for (const std::int64_t v : {p.batch, p.queries, p.pixels, tiles.total}) bytes.put32(v);
    for (const Level& level : p.levels) bytes.put32(level.height);
    for (const Level& level : p.levels) bytes.put32(level.width);
    for (const Level& level : p.levels) bytes.put32(level.start);
    for (std::size_t l = 0; l < p.levels.size(); l++) bytes.put32(tiles.first.empty() ? 0 : tiles.first[l]);
    for (std::size_t l = 0; l < p.levels.size(); l++) bytes.put32(tiles.across.empty() ? 1 : tiles.across[l]);
    const Ownership owned = ownership_of(p, c);
    for (const std::int64_t first : owned.first) bytes.put32(first);
    for (const std::int64_t chunks : owned.chunks) bytes.put32(chunks);
    for (const std::int64_t plane : owned.plane) bytes.put32(plane);
    return bytes.finish();
}

Step launch_step(const Kernel& kernel, bool family) {
    if (kernel.blocks > std::numeric_limits<std::int32_t>::max())
        throw Error(Code::invalid_problem,
                    fmt::format("{}: expected at most 2^31 - 1 blocks, got {}", kernel.name, kernel.blocks));
    Step step;
    step.kernel = kernel.name;
    step.grid = {static_cast<std::uint32_t>(kernel.blocks), 1, 1};
    step.threads = static_cast<std::uint32_t>(kernel.threads);
    step.shared_bytes = static_cast<std::size_t>(kernel.shared_bytes);
    for (const KernelArgument& argument : kernel.arguments) step.arguments.push_back(argument.slot);
    if (family) step.arguments.push_back({Buffer::shape});
    return step;
}

// What an empty problem still owes: gradients of a value that exists, all zero.
Plan empty_plan(const Problem& p) {
    Plan plan;
    if (p.pass == Pass::backward && p.gradients.value && p.batch > 0) {
        Step zero;
        zero.kind = Step::Kind::zero;
        zero.target = {Buffer::grad_value};
        zero.bytes = static_cast<std::size_t>(p.batch * p.pixels * p.heads * p.head_dim) * bytes_of(p.value);
        plan.steps.push_back(zero);
    }
    return plan;
}

}  // namespace

Plan plan(const Problem& p, const Config& c) {
    if (p.empty()) return empty_plan(p);
    const bool family = p.specialise == Specialise::family;
    Plan plan;
    Scratch before = scratch(p, c);
    plan.steps = std::move(before.zeros);
    plan.workspace_bytes = before.workspace_bytes;
    if (family) plan.shape = family_shape(p, c);
    for (const Kernel& kernel : kernels(p, c)) plan.steps.push_back(launch_step(kernel, family));
    return plan;
}

Plan oracle_plan(const Problem& p) {
    Plan plan;
    const bool family = p.specialise == Specialise::family;
    if (p.pass == Pass::backward && p.batch > 0) {
        Step zero;
        zero.kind = Step::Kind::zero;
        zero.target = {Buffer::grad_value};
        zero.bytes = static_cast<std::size_t>(p.batch * p.pixels * p.heads * p.head_dim) * sizeof(double);
        plan.steps.push_back(zero);
    }
    if (p.empty()) return plan;
    if (family) plan.shape = family_shape(p, Config{});
    for (const Kernel& kernel : oracle_kernels(p)) plan.steps.push_back(launch_step(kernel, family));
    return plan;
}

}  // namespace msda
