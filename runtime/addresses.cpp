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
    if (buffer == Buffer::shape || is_empty(problem, buffer) || std::any_of(checks_.begin(), checks_.end(), same))
        return;
    // Scales and workspace have alignments of their own; the problem's is that of the tensors.
    const bool own = buffer == Buffer::scales || buffer == Buffer::workspace;
    const std::int64_t alignment = std::max(element_bytes(problem, buffer), own ? 1 : least_alignment);
    checks_.push_back({index, static_cast<std::uintptr_t>(alignment)});
}

AddressChecks AddressChecks::of(const Problem& problem, const Plan& plan) {
    AddressChecks checks;
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Kind::zero) checks.add(problem, step.target.buffer, problem.alignment);
        for (const Slot& slot : step.arguments) checks.add(problem, slot.buffer, problem.alignment);
    }
    return checks;
}

AddressChecks AddressChecks::of_host(const Problem& p) {
    AddressChecks checks;
    const auto need = [&](bool wanted, Buffer buffer) {
        if (wanted) checks.add(p, buffer, 1);
    };
    const bool backward = p.pass == Pass::backward;
    const bool point_gradients = backward && (p.gradients.location || p.gradients.weight);
    need(!backward || point_gradients, Buffer::value);
    need(true, Buffer::locations);
    need(true, Buffer::weights);
    need(p.reference != Reference::none, Buffer::references);
    need(p.value == Type::e4m3, Buffer::scales);
    need(!backward, Buffer::output);
    need(backward, Buffer::grad_output);
    need(backward && p.gradients.value, Buffer::grad_value);
    need(backward && p.gradients.location, Buffer::grad_locations);
    need(backward && p.gradients.weight, Buffer::grad_weights);
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
