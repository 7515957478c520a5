// What the files of the labs include: the project's device primitives (templates/arch.cuh, number.cuh), typed loads and
// stores, and, where a host compiler builds the file with the emulation, CUDA's own names for threads and barriers.
#pragma once

#include "number.cuh"

using namespace msda;

// Stands where you are to write; the checker takes a section that holds it for not attempted.
#define LAB_TODO

#ifdef MSDA_EMULATE

// Functions that the checker calls by name.
#define LAB_EXPORT extern "C" __attribute__((visibility("default")))

// Threads a block and blocks of the grid; who launches a kernel sets them first.
extern "C" {
__attribute__((visibility("default"), used)) inline unsigned lab_launch[2];
}

// threadIdx.x, blockIdx.x, blockDim.x and gridDim.x; the labs use one dimension.
struct LabThreadIndex {
    operator unsigned() const { return static_cast<unsigned>(emulation::current()->index); }
};
struct LabBlockIndex {
    operator unsigned() const { return emulation::current()->block; }
};
struct LabThreads {
    operator unsigned() const { return lab_launch[0]; }
};
struct LabBlocks {
    operator unsigned() const { return lab_launch[1]; }
};
template <class X>
struct LabDimension {
    X x;
};
inline constexpr LabDimension<LabThreadIndex> threadIdx;
inline constexpr LabDimension<LabBlockIndex> blockIdx;
inline constexpr LabDimension<LabThreads> blockDim;
inline constexpr LabDimension<LabBlocks> gridDim;

inline void __syncthreads(emulation::Site site = emulation::Site::here()) { block_barrier(site); }
inline void __syncwarp(emulation::Site site = emulation::Site::here()) { warp_barrier(site); }

// `p[i]` works too, but only these accesses are checked against the bounds of the tensors and counted.
template <class T>
T load(const T* p, emulation::Site site = emulation::Site::here()) {
    return __builtin_bit_cast(T, load_global<sizeof(T)>(p, site));
}
template <class T>
void store(T* p, T v, emulation::Site site = emulation::Site::here()) {
    store_global<sizeof(T)>(p, __builtin_bit_cast(Raw<sizeof(T)>, v), site);
}

#else

// NVRTC knows no host code: there the host's functions are the device's, and nobody calls them.
#define LAB_EXPORT extern "C" __device__

// In device code every access is what it looks like.
template <class T>
MSDA_DEVICE T load(const T* p) { return *p; }
template <class T>
MSDA_DEVICE void store(T* p, T v) { *p = v; }

#endif

// Four neighbouring floats: what one lane loads or stores at once (16 bytes, from an address divisible by 16).
struct alignas(16) Float4 {
    float x, y, z, w;
};
