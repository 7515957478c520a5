#include "runtime/addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::int64_t workspace_alignment = 256;

std::int64_t element_bytes(const Problem& p, Buffer buffer) {
    switch (buffer) {
        case Buffer::value:
        case Buffer::grad_value:
            return static_cast<std::int64_t>(bytes_of(p.value));
        case Buffer::locations:
        case Buffer::grad_locations:
        case Buffer::references:
        case Buffer::grad_references:
            return static_cast<std::int64_t>(bytes_of(p.location));
        case Buffer::weights:
        case Buffer::grad_weights:
            return static_cast<std::int64_t>(bytes_of(p.weight));
        case Buffer::output:
        case Buffer::grad_output:
            return static_cast<std::int64_t>(bytes_of(p.output));
        case Buffer::scales:
            return 4;
        case Buffer::workspace:
            return workspace_alignment;
        case Buffer::shape:
            break;
    }
    return 1;
}

// True when the tensor has no element, so that its address means nothing.
bool is_empty(const Problem& p, Buffer buffer) {
    switch (buffer) {
        case Buffer::value:
        case Buffer::grad_value:
            return p.batch == 0;
        case Buffer::scales:
        case Buffer::workspace:
        case Buffer::shape:
            return false;
        default:
            return p.empty();
    }
}

// True when the problem reads or writes the buffer.
bool uses(const Problem& p, Buffer buffer) {
    const bool backward = p.pass == Pass::backward;
    switch (buffer) {
        case Buffer::locations:
        case Buffer::weights:
        case Buffer::workspace:
            return true;
        case Buffer::value:
            return !p.empty() && (!backward || p.gradients.location || p.gradients.weight);
        case Buffer::references:
            return p.reference != Reference::none;
        case Buffer::scales:
            return p.value == Type::e4m3;
        case Buffer::output:
            return !backward;
        case Buffer::grad_output:
            return backward;
        case Buffer::grad_value:
            return backward && p.gradients.value;
        case Buffer::grad_locations:
            return backward && p.gradients.location;
        case Buffer::grad_weights:
            return backward && p.gradients.weight;
        case Buffer::grad_references:
            return backward && p.reference != Reference::none;
        case Buffer::shape:
            break;
    }
    return false;
}

}  // namespace

const char* name(Buffer buffer) {
    constexpr std::array<const char*, buffer_count> names = {
        "value",      "locations",      "weights",      "references",      "scales",    "output", "grad_output",
        "grad_value", "grad_locations", "grad_weights", "grad_references", "workspace", "shape"};
    return names[static_cast<std::size_t>(buffer)];
}

void AddressChecks::add(const Problem& problem, Buffer buffer, std::int64_t least_alignment) {
    const auto index = static_cast<std::size_t>(buffer);
    const auto same = [&](const Check& check) { return check.index == index; };
    if (!uses(problem, buffer) || is_empty(problem, buffer) || std::any_of(checks_.begin(), checks_.end(), same))
        return;
    // Scales and workspace have alignments of their own; the problem's is that of the tensors.
    const bool own = buffer == Buffer::scales || buffer == Buffer::workspace;
    const std::int64_t alignment = std::max(element_bytes(problem, buffer), own ? 1 : least_alignment);
    // Whether the references train is said by their gradient's address alone.
    checks_.push_back({index, static_cast<std::uintptr_t>(alignment), buffer == Buffer::grad_references});
}

AddressChecks AddressChecks::of(const Problem& problem, const Plan& plan) {
    AddressChecks checks;
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Kind::zero) checks.add(problem, step.target.buffer, problem.alignment);
        for (const Slot& slot : step.arguments) checks.add(problem, slot.buffer, problem.alignment);
    }
    return checks;
}

AddressChecks AddressChecks::of_host(const Problem& problem) {
    AddressChecks checks;
    for (std::size_t i = 0; i < buffer_count; ++i)
        if (static_cast<Buffer>(i) != Buffer::workspace) checks.add(problem, static_cast<Buffer>(i), 1);
    return checks;
}

void AddressChecks::refuse(const Check& check, std::uintptr_t address) {
    const char* buffer = name(static_cast<Buffer>(check.index));
    if (address == 0) throw Error(Code::invalid_argument, fmt::format("{}: expected an address, got null", buffer));
    throw Error(
        Code::invalid_argument,
        fmt::format("{}: expected an address aligned to {} bytes, got {:#x} (aligned to {}); Problem::alignment says "
                    "how well the tensors are aligned",
                    buffer, check.alignment, address, address & (~address + 1)));
}

}  // namespace msda
