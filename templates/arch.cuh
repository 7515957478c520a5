// Everything that differs between GPU generations, one function a primitive: vector loads and stores, shuffles, barriers, reductions,
// atomic adds. The rest of templates/ is plain C++ and knows no architecture. The host build (runtime/emulation/emulation.hpp, included
// before this file and announced by MSDA_EMULATE) brings its own definitions of the same functions.
#pragma once

#ifndef MSDA_EMULATE

#define MSDA_DEVICE __device__ __forceinline__
// Names the entry points to the emulation; nothing on the device.
#define MSDA_ENTRY(name)
// A launch argument that is read where it lies, in constant memory.
#if __CUDA_ARCH__ >= 700
#define MSDA_GRID_CONSTANT __grid_constant__
#else
#define MSDA_GRID_CONSTANT
#endif

namespace msda {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

constexpr u32 full_warp = 0xffffffffu;

// `Bytes` raw bytes in registers: what one lane loads or stores at once.
template <int Bytes>
struct Raw;
template <>
struct Raw<1> { u8 word[1]; };
template <>
struct Raw<2> { u16 word[1]; };
template <>
struct Raw<4> { u32 word[1]; };
template <>
struct alignas(8) Raw<8> { u32 word[2]; };
template <>
struct alignas(16) Raw<16> { u32 word[4]; };

// The compiler is told the range, so that divisions by powers of two become shifts.
MSDA_DEVICE int thread_index() {
    const int i = static_cast<int>(threadIdx.x);
    __builtin_assume(i >= 0 && i < 1024);
    return i;
}
MSDA_DEVICE u32 block_index() { return blockIdx.x; }

// The block's dynamic shared memory, 16-byte aligned.
MSDA_DEVICE char* shared_memory() {
    extern __shared__ __align__(16) char msda_shared[];
    return msda_shared;
}

// The same address, but one that the compiler keeps in registers instead of adding up again wherever it is used.
MSDA_DEVICE const char* kept(const char* p) {
    asm("" : "+l"(p));
    return p;
}

// --- global memory: read-only data (ld.global.nc), streamed results ---------------------------------------------------------------
template <int Bytes>
MSDA_DEVICE Raw<Bytes> load_global(const void* p) {
    Raw<Bytes> r;
    if constexpr (Bytes == 16)
        asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]) : "l"(p));
    else if constexpr (Bytes == 8)
        asm("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(r.word[0]), "=r"(r.word[1]) : "l"(p));
    else if constexpr (Bytes == 4)
        asm("ld.global.nc.u32 %0, [%1];" : "=r"(r.word[0]) : "l"(p));
    else if constexpr (Bytes == 2)
        asm("ld.global.nc.u16 %0, [%1];" : "=h"(r.word[0]) : "l"(p));
    else {
        u16 t;
        asm("ld.global.nc.u8 %0, [%1];" : "=h"(t) : "l"(p));
        r.word[0] = static_cast<u8>(t);
    }
    return r;
}
template <int Bytes>
MSDA_DEVICE void store_global(void* p, Raw<Bytes> r) {
    *static_cast<Raw<Bytes>*>(p) = r;
}
// An aligned plain load that other launches' writes may precede (no read-only cache).
template <int Bytes>
MSDA_DEVICE Raw<Bytes> load_written(const void* p) {
    return *static_cast<const Raw<Bytes>*>(p);
}

// --- shared memory: explicit accesses, so that the emulation can count bank conflicts and see races --------------------------------
template <class T>
MSDA_DEVICE T load_shared(const T* p) { return *p; }
template <class T>
MSDA_DEVICE void store_shared(T* p, T v) { *p = v; }
MSDA_DEVICE int shared_add(int* p, int v) { return atomicAdd(p, v); }
MSDA_DEVICE void shared_min(int* p, int v) { atomicMin(p, v); }
MSDA_DEVICE void shared_max(int* p, int v) { atomicMax(p, v); }

// --- warps and blocks ---------------------------------------------------------------------------------------------------------------
MSDA_DEVICE void block_barrier() { __syncthreads(); }
MSDA_DEVICE void warp_barrier() { __syncwarp(); }
// The value of lane `source` of each aligned group of `width` lanes; all 32 lanes take part. T: int, u32, float or double.
template <class T>
MSDA_DEVICE T shuffle(T v, int source, int width) { return __shfl_sync(full_warp, v, source, width); }
template <class T>
MSDA_DEVICE T shuffle_xor(T v, int mask) { return __shfl_xor_sync(full_warp, v, mask, 32); }
template <class T>
MSDA_DEVICE T shuffle_up(T v, int delta) { return __shfl_up_sync(full_warp, v, delta, 32); }
MSDA_DEVICE bool warp_any(bool p) { return __any_sync(full_warp, p); }
MSDA_DEVICE u32 warp_ballot(bool p) { return __ballot_sync(full_warp, p); }
MSDA_DEVICE int popcount(u32 v) { return __popc(v); }

MSDA_DEVICE int warp_min(int v) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(full_warp, v);
#else
#pragma unroll
    for (int k = 16; k; k >>= 1) {
        const int other = shuffle_xor(v, k);
        v = other < v ? other : v;
    }
    return v;
#endif
}
MSDA_DEVICE int warp_max(int v) { return -warp_min(-v); }

// --- numbers ------------------------------------------------------------------------------------------------------------------------
MSDA_DEVICE float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
MSDA_DEVICE double fused_multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
MSDA_DEVICE float floor_of(float v) { return floorf(v); }
MSDA_DEVICE double floor_of(double v) { return floor(v); }
MSDA_DEVICE float smaller(float a, float b) { return fminf(a, b); }
MSDA_DEVICE double smaller(double a, double b) { return fmin(a, b); }
MSDA_DEVICE float larger(float a, float b) { return fmaxf(a, b); }
MSDA_DEVICE double larger(double a, double b) { return fmax(a, b); }
// v moved into [least, most]; NaN becomes `least`.
MSDA_DEVICE float clamp(float v, float least, float most) { return fminf(fmaxf(v, least), most); }
MSDA_DEVICE double clamp(double v, double least, double most) { return fmin(fmax(v, least), most); }
// v moved into [0, 1], one instruction with the addition before it; NaN becomes 0.
MSDA_DEVICE float saturate(float v) { return __saturatef(v); }
MSDA_DEVICE double saturate(double v) { return clamp(v, 0.0, 1.0); }
// 1 / v, off by one unit in the last place at most.
MSDA_DEVICE float reciprocal(float v) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
MSDA_DEVICE float bits_to_float(u32 b) { return __uint_as_float(b); }
MSDA_DEVICE u32 float_to_bits(float f) { return __float_as_uint(f); }
MSDA_DEVICE double bits_to_double(u32 low, u32 high) { return __hiloint2double(static_cast<int>(high), static_cast<int>(low)); }
MSDA_DEVICE u64 double_to_bits(double d) { return static_cast<u64>(__double_as_longlong(d)); }
MSDA_DEVICE float exp_of(float v) { return expf(v); }
MSDA_DEVICE double exp_of(double v) { return exp(v); }
// e^v for v ≤ 0 in two instructions; within 2^-22 of it plus |v| · 2^-23, which e^v makes small. What falls below the normal numbers becomes 0.
MSDA_DEVICE float decay_of(float v) {
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(v * 1.4426950408889634f));
    return e;
}
MSDA_DEVICE double decay_of(double v) { return exp(v); }
// 1 / v within one unit in the last place, in one instruction; for v ≥ 1.
MSDA_DEVICE float inverse_of(float v) {
    float i;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(i) : "f"(v));
    return i;
}
MSDA_DEVICE double inverse_of(double v) { return 1.0 / v; }

MSDA_DEVICE float half_to_float(u16 h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
// A packed pair, `low` from the lower half; one statement, for the compiler takes its time for each (an encoder's forward: 12 % less).
MSDA_DEVICE void halves_to_floats(u32 pair, float& low, float& high) {
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(pair));
}
MSDA_DEVICE u16 float_to_half(float f) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
// Two floats rounded to a packed pair, `low` in the lower half.
MSDA_DEVICE u32 floats_to_halves(float low, float high) {
#if __CUDA_ARCH__ >= 800
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
#else
    return float_to_half(low) | static_cast<u32>(float_to_half(high)) << 16;
#endif
}
MSDA_DEVICE u16 float_to_bfloat(float f) {
#if __CUDA_ARCH__ >= 800
    u16 h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    // Round to nearest even by integers; a NaN keeps its sign and becomes quiet.
    const u32 b = float_to_bits(f);
    if ((b & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>(b >> 16 | 0x40u);
    return static_cast<u16>((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
#endif
}
MSDA_DEVICE u32 floats_to_bfloats(float low, float high) {
#if __CUDA_ARCH__ >= 800
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
#else
    return float_to_bfloat(low) | static_cast<u32>(float_to_bfloat(high)) << 16;
#endif
}

// Two e4m3 numbers (bias 7, no infinities, 0x7f is NaN) widened; `low` is the lower byte.
MSDA_DEVICE void fp8_pair_to_floats(u16 pair, float& low, float& high) {
#if __CUDA_ARCH__ >= 890
    u32 halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    halves_to_floats(halves, low, high);
#else
    // Exponent and mantissa moved to where f32 has them, then scaled by 2^120: right for subnormals too.
    const u32 l = pair & 0xffu, h = pair >> 8;
    low = bits_to_float((l & 0x80u) << 24 | (l & 0x7fu) << 20) * 1.329227995784916e36f;
    high = bits_to_float((h & 0x80u) << 24 | (h & 0x7fu) << 20) * 1.329227995784916e36f;
    if ((l & 0x7fu) == 0x7fu) low = bits_to_float(0x7fffffffu);
    if ((h & 0x7fu) == 0x7fu) high = bits_to_float(0x7fffffffu);
#endif
}

// --- tensor cores -------------------------------------------------------------------------------------------------------------------
struct Halves {};   // f16 pairs
struct Bfloats {};  // bf16 pairs
// Four 8 × 8 tiles of 16-bit numbers from shared memory; from sm_75. Lane i gives the address of row i % 8 of tile i / 8: 16 bytes, aligned. In word k
// lane 4·g + t gets of tile k the numbers in row g and columns 2t, 2t + 1; Turned: in column g and rows 2t, 2t + 1 (PTX ISA, ldmatrix).
template <bool Turned>
MSDA_DEVICE Raw<16> load_tiles(const void* row) {
    Raw<16> r;
#if __CUDA_ARCH__ >= 750
    u64 address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(row));
    const u32 at = static_cast<u32>(address);
    if constexpr (Turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]) : "r"(at) : "memory");
#else
    __trap();
#endif
    return r;
}
// d = c + a · b for a 16 × 16 tile `a` and a 16 × 8 tile `b` of 16-bit numbers, sums in f32; from sm_80. Lane 4·g + t holds (PTX ISA, mma.m16n8k16)
//   a[0], a[1]: rows g, g + 8 at products 2t, 2t + 1; a[2], a[3]: the same rows at products 2t + 8, 2t + 9;
//   b[0], b[1]: column g at products 2t, 2t + 1 and 2t + 8, 2t + 9; c and d [0], [1]: row g, columns 2t, 2t + 1; [2], [3]: row g + 8.
MSDA_DEVICE void multiply_tile(Halves, float* d, const float* c, const u32* a, const u32* b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
}
MSDA_DEVICE void multiply_tile(Bfloats, float* d, const float* c, const u32* a, const u32* b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
}

// --- atomic adds to global memory that return nothing (red). Each emits hardware reductions only, never a compare-and-swap loop; what an
// --- architecture lacks is refused by generator/ before it is emitted. A red without order and scope words is relaxed at GPU scope;
// --- the words themselves need sm_70.
MSDA_DEVICE void red_f32(float* p, float v) { asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
MSDA_DEVICE void red_f64(double* p, double v) {
#if __CUDA_ARCH__ >= 600
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
#else
    __trap();
#endif
}
// 16 bytes of f32: one vector red from sm_90, four scalars before.
MSDA_DEVICE void red_f32x4(float* p, float a, float b, float c, float d) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(p), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
#else
    red_f32(p, a);
    red_f32(p + 1, b);
    red_f32(p + 2, c);
    red_f32(p + 3, d);
#endif
}
MSDA_DEVICE void red_f32x2(float* p, float a, float b) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1,%2};" ::"l"(p), "f"(a), "f"(b) : "memory");
#else
    red_f32(p, a);
    red_f32(p + 1, b);
#endif
}
// One packed pair of f16; two-byte values have no scalar hardware red before sm_90 that is not a loop, so pairs it is.
MSDA_DEVICE void red_f16x2(void* p, u32 pair) {
#if __CUDA_ARCH__ >= 600
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(pair) : "memory");
#else
    __trap();
#endif
}
MSDA_DEVICE void red_bf16x2(void* p, u32 pair) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(p), "r"(pair) : "memory");
#else
    __trap();
#endif
}
MSDA_DEVICE void red_f16x8(void* p, Raw<16> r) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(r.word[0]), "r"(r.word[1]), "r"(r.word[2]), "r"(r.word[3]) : "memory");
#else
#pragma unroll
    for (int i = 0; i < 4; i++) red_f16x2(static_cast<u32*>(p) + i, r.word[i]);
#endif
}
MSDA_DEVICE void red_bf16x8(void* p, Raw<16> r) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.v4.bf16x2 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(r.word[0]), "r"(r.word[1]), "r"(r.word[2]), "r"(r.word[3]) : "memory");
#else
#pragma unroll
    for (int i = 0; i < 4; i++) red_bf16x2(static_cast<u32*>(p) + i, r.word[i]);
#endif
}

}  // namespace msda

#endif  // MSDA_EMULATE
