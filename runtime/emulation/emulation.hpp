// Makes emitted CUDA source a host program: included before it, with MSDA_EMULATE defined, this stands for CUDA's
// keywords and, with the headers at its end, for templates/arch.cuh: the same functions under the same names, each with
// the place of the call added.
#pragma once

#include "runtime/emulation/machine.hpp"

#define __global__
#define __device__
#define __launch_bounds__(...)
#define MSDA_DEVICE inline
#define MSDA_GRID_CONSTANT
// Exports a kernel as msda_emulated_NAME(arguments), the arguments a list of addresses as cuLaunchKernel takes them.
#define MSDA_ENTRY(name)                                                                            \
    extern "C" __attribute__((visibility("default"))) void msda_emulated_##name(void** arguments) { \
        msda::emulation::call(name, arguments);                                                     \
    }

namespace msda {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

constexpr u32 full_warp = 0xffffffffu;

template <int Bytes>
struct Raw;
template <>
struct Raw<1> {
    u8 word[1];
};
template <>
struct Raw<2> {
    u16 word[1];
};
template <>
struct Raw<4> {
    u32 word[1];
};
template <>
struct alignas(8) Raw<8> {
    u32 word[2];
};
template <>
struct alignas(16) Raw<16> {
    u32 word[4];
};

namespace emulation {

// The thread whose code runs now on this host thread; the engine sets it at each switch.
static thread_local Thread* current = nullptr;

template <class... Parameters>
void call(void (*kernel)(Parameters...), void** arguments) {
    // A constructor, because the values in its braces are evaluated from left to right.
    struct Invocation {
        Invocation(void (*k)(Parameters...), Parameters... values) { k(values...); }
    };
    Invocation{kernel, *static_cast<Parameters*>(*arguments++)...};
}

}  // namespace emulation

MSDA_DEVICE int thread_index() { return emulation::current->index; }
MSDA_DEVICE u32 block_index() { return emulation::current->block; }
MSDA_DEVICE char* shared_memory() { return emulation::current->shared; }
MSDA_DEVICE const char* kept(const char* p) { return p; }

}  // namespace msda

// Where the engine finds this module's current thread, on the host thread that asks.
extern "C" __attribute__((visibility("default"))) inline __attribute__((used)) msda::emulation::Thread**
msda_emulated_current() {
    return &msda::emulation::current;
}

#include "runtime/emulation/collectives.hpp"
#include "runtime/emulation/memory.hpp"
#include "runtime/emulation/numbers.hpp"
