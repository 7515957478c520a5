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

// Returns the thread whose code runs now on the calling host thread; the engine's function, given when it loads the
// module. A thread_local here would do the same, but a host thread's table keeps an entry of it when the module is
// gone, and where such a block begins 16 bytes into a page, LeakSanitizer takes what lies before it for its size and
// crashes.
static Thread* (*current)() = nullptr;

template <class... Parameters>
void call(void (*kernel)(Parameters...), void** arguments) {
    // A constructor, because the values in its braces are evaluated from left to right.
    struct Invocation {
        Invocation(void (*k)(Parameters...), Parameters... values) { k(values...); }
    };
    Invocation{kernel, *static_cast<Parameters*>(*arguments++)...};
}

}  // namespace emulation

MSDA_DEVICE int thread_index() { return emulation::current()->index; }
MSDA_DEVICE u32 block_index() { return emulation::current()->block; }
MSDA_DEVICE char* shared_memory() { return emulation::current()->shared; }
MSDA_DEVICE const char* kept(const char* p) { return p; }

}  // namespace msda

// The engine calls it once, before any kernel.
extern "C" __attribute__((visibility("default"))) inline __attribute__((used)) void msda_emulated_connect(
    msda::emulation::Thread* (*current)()) {
    msda::emulation::current = current;
}

#include "runtime/emulation/collectives.hpp"
#include "runtime/emulation/memory.hpp"
#include "runtime/emulation/numbers.hpp"
