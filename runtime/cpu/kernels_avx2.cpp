// The kernels in AVX2 with FMA and F16C. Only the code between the pragmas uses them, and all of it lies in a namespace
// of its own, so that no function the linker could share with other files needs more than the baseline.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "runtime/cpu/kernels.hpp"
#include "runtime/numbers.hpp"

#define MSDA_VECTOR_BYTES 32
#define MSDA_CPU_AVX2

namespace msda::cpu {

#if defined(__clang__)
#define MSDA_UNROLL _Pragma("unroll")
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#define MSDA_UNROLL _Pragma("GCC unroll 8")
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

namespace avx2 {

using host::bf16;
using host::e4m3;
using host::f16;

// Each builds on the one before.
#include "runtime/cpu/lanes.inl"

#include "runtime/cpu/rows.inl"

#include "runtime/cpu/passes.inl"

}  // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

Kernels avx2_kernels(Type value) {
    return host::visit(value, [](auto zero) { return avx2::kernels_of<decltype(zero)>(); });
}

}  // namespace msda::cpu
#endif
