// The kernels in the instruction set that every processor of this architecture has (SSE2 on x86-64, NEON on aarch64).
#include <cmath>
#include <cstring>

#include "runtime/cpu/kernels.hpp"
#include "runtime/numbers.hpp"

#define MSDA_VECTOR_BYTES 16
#if defined(__clang__)
#define MSDA_UNROLL _Pragma("unroll")
#else
#define MSDA_UNROLL _Pragma("GCC unroll 8")
#endif

namespace msda::cpu {
namespace baseline {

using host::bf16;
using host::e4m3;
using host::f16;

// Each builds on the one before.
#include "runtime/cpu/lanes.inl"

#include "runtime/cpu/rows.inl"

#include "runtime/cpu/passes.inl"

}  // namespace baseline

Kernels baseline_kernels(Type value) {
    return host::visit(value, [](auto zero) { return baseline::kernels_of<decltype(zero)>(); });
}

}  // namespace msda::cpu
