// Small kernels written for these tests, and one call that runs a kernel of any source on host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/emulation/emulator.hpp"

namespace msda::test {

// The tests' emulator: modules are built once for the whole run.
Emulator& emulator();

// A launch of `kernel` with (const void* in, void* out); `in` and `out` are all it may touch.
struct SmallLaunch {
    std::string source;
    std::string kernel = "kernel";
    std::uint32_t blocks = 1;
    std::uint32_t threads = 32;
    std::size_t shared_bytes = 0;
    EmulationSettings settings{};
    std::size_t missing_bytes = 0;  // the output is declared shorter by these
};
emulation::Counts run_small(const SmallLaunch& launch, const void* in, std::size_t in_bytes, void* out,
                            std::size_t out_bytes);

template <class In, class Out>
emulation::Counts run_small(const SmallLaunch& launch, const std::vector<In>& in, std::vector<Out>& out) {
    return run_small(launch, in.data(), in.size() * sizeof(In), out.data(), out.size() * sizeof(Out));
}

// The message of the Error that the launch throws; empty when it throws none.
std::string error_of(const SmallLaunch& launch);

// A kernel whose body is `body`, with `in` and `out` as const int* and int*, `t` the thread and `b` the block.
std::string kernel_source(const std::string& body);

}  // namespace msda::test
