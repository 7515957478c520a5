// The addresses of one call by buffer, and the checks that each must pass before anything is launched.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "generator/plan.hpp"
#include "msda/msda.hpp"

namespace msda {

constexpr std::size_t buffer_count = static_cast<std::size_t>(Buffer::shape) + 1;

// By Buffer; the shape has none.
using Addresses = std::array<const void*, buffer_count>;

inline Addresses addresses_of(const Tensors& t) noexcept {
    return {t.value,      t.locations,      t.weights,      t.references,      t.scales,    t.output, t.grad_output,
            t.grad_value, t.grad_locations, t.grad_weights, t.grad_references, t.workspace, nullptr};
}

// The field of Tensors behind a buffer.
const char* name(Buffer buffer);

// What a call's addresses must satisfy.
class AddressChecks {
  public:
    // For the buffers that a plan's steps name and the problem uses: a kernel may have an argument for what its problem
    // lacks.
    static AddressChecks of(const Problem& problem, const Plan& plan);
    // For the buffers that the problem uses by itself; host code takes any element-aligned address.
    static AddressChecks of_host(const Problem& problem);

    // Throws Error(invalid_argument) that names the first address that is null or misaligned, with expected and got.
    void verify(const Addresses& addresses) const {
        for (const Check& check : checks_) {
            const auto address = reinterpret_cast<std::uintptr_t>(addresses[check.index]);
            if ((address == 0 && !check.may_be_null) || (address & (check.alignment - 1)) != 0) [[unlikely]]
                refuse(check, address);
        }
    }

  private:
    struct Check {
        std::size_t index;
        std::uintptr_t alignment;
        bool may_be_null;
    };
    void add(const Problem& problem, Buffer buffer, std::int64_t least_alignment);
    [[noreturn]] static void refuse(const Check& check, std::uintptr_t address);

    std::vector<Check> checks_;
};

}  // namespace msda
