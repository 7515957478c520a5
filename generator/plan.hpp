// How a config's kernels are launched: a short list of steps over named buffers. Pure; the runtime only fills in
// addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "msda/config.hpp"
#include "msda/problem.hpp"

namespace msda {

// A buffer a step reads or writes; `shape` is Plan::shape, passed by value (family kernels), `workspace` the caller's
// scratch.
enum class Buffer : std::uint8_t {
    value,
    locations,
    weights,
    references,
    scales,
    output,
    grad_output,
    grad_value,
    grad_locations,
    grad_weights,
    grad_references,
    workspace,
    shape,
};

// One kernel argument: a buffer's address plus an offset in bytes (workspace parts).
struct Slot {
    Buffer buffer{};
    std::size_t offset = 0;
    bool operator==(const Slot&) const = default;
};

// Zero-fill `bytes` bytes of `target`, or launch `kernel` of the plan's module.
struct Step {
    enum class Kind : std::uint8_t { zero, kernel } kind = Kind::kernel;
    std::string kernel;  // entry name in the emitted source
    std::array<std::uint32_t, 3> grid{1, 1, 1};
    std::uint32_t threads = 0;     // threads a block (x)
    std::size_t shared_bytes = 0;  // dynamic shared memory a block
    std::vector<Slot> arguments;   // in the kernel's order
    Slot target;                   // of a zero step
    std::size_t bytes = 0;         // of a zero step, a multiple of 2
};

struct Plan {
    std::vector<Step> steps;          // in stream order; none for an empty problem
    std::size_t workspace_bytes = 0;  // alignment 256
    std::vector<std::byte> shape;     // the launch arguments of family kernels, laid out as templates/shape.cuh says
};

// Throws Error(invalid_problem) where a grid would pass the hardware's limits.
Plan plan(const Problem& problem, const Config& config);

}  // namespace msda
