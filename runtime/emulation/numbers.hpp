// Arithmetic of templates/arch.cuh for the emulation, bit for bit what the GPU's conversions give (round to nearest
// even, NaN to 0x7fff), and the 16-bit atomics that need it.
#pragma once

#include "runtime/emulation/collectives.hpp"
#include "runtime/emulation/memory.hpp"

namespace msda {

MSDA_DEVICE float fused_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MSDA_DEVICE double fused_multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
MSDA_DEVICE float floor_of(float v) { return __builtin_floorf(v); }
MSDA_DEVICE double floor_of(double v) { return __builtin_floor(v); }
MSDA_DEVICE float smaller(float a, float b) { return __builtin_fminf(a, b); }
MSDA_DEVICE double smaller(double a, double b) { return __builtin_fmin(a, b); }
MSDA_DEVICE float larger(float a, float b) { return __builtin_fmaxf(a, b); }
MSDA_DEVICE double larger(double a, double b) { return __builtin_fmax(a, b); }
MSDA_DEVICE float clamp(float v, float least, float most) { return __builtin_fminf(__builtin_fmaxf(v, least), most); }
MSDA_DEVICE double clamp(double v, double least, double most) { return __builtin_fmin(__builtin_fmax(v, least), most); }
MSDA_DEVICE float saturate(float v) { return clamp(v, 0.0f, 1.0f); }
MSDA_DEVICE double saturate(double v) { return clamp(v, 0.0, 1.0); }
MSDA_DEVICE float reciprocal(float v) { return 1.0f / v; }
MSDA_DEVICE float bits_to_float(u32 b) { return __builtin_bit_cast(float, b); }
MSDA_DEVICE u32 float_to_bits(float f) { return __builtin_bit_cast(u32, f); }
MSDA_DEVICE double bits_to_double(u32 low, u32 high) {
    return __builtin_bit_cast(double, static_cast<u64>(high) << 32 | low);
}
MSDA_DEVICE u64 double_to_bits(double d) { return __builtin_bit_cast(u64, d); }
MSDA_DEVICE float exp_of(float v) { return __builtin_expf(v); }
MSDA_DEVICE double exp_of(double v) { return __builtin_exp(v); }
MSDA_DEVICE float decay_of(float v) { return __builtin_expf(v); }
MSDA_DEVICE double decay_of(double v) { return __builtin_exp(v); }
MSDA_DEVICE float inverse_of(float v) { return 1.0f / v; }
MSDA_DEVICE double inverse_of(double v) { return 1.0 / v; }

MSDA_DEVICE float half_to_float(u16 h) {
    const u32 sign = (h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu, mantissa = h & 0x3ffu;
    if (exponent == 0x1f) return bits_to_float(sign | 0x7f800000u | mantissa << 13);
    // Subnormals are mantissa · 2^-24, exact in f32.
    if (exponent == 0) return bits_to_float(sign | float_to_bits(static_cast<float>(mantissa) * 0x1p-24f));
    return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}
MSDA_DEVICE void halves_to_floats(u32 pair, float& low, float& high) {
    low = half_to_float(static_cast<u16>(pair));
    high = half_to_float(static_cast<u16>(pair >> 16));
}
MSDA_DEVICE u16 float_to_half(float f) {
    const u32 bits = float_to_bits(f), magnitude = bits & 0x7fffffffu;
    const u16 sign = static_cast<u16>(bits >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // 65520 and above round to infinity
    // Below 2^-14: added to 1/2, whose last place is 2^-24, f32 itself rounds to the nearest multiple of that.
    if (magnitude < 0x38800000u)
        return sign | static_cast<u16>(float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3f000000u);
    return sign | static_cast<u16>((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
}
MSDA_DEVICE u32 floats_to_halves(float low, float high) {
    return float_to_half(low) | static_cast<u32>(float_to_half(high)) << 16;
}
MSDA_DEVICE u16 float_to_bfloat(float f) {
    const u32 bits = float_to_bits(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<u16>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
MSDA_DEVICE u32 floats_to_bfloats(float low, float high) {
    return float_to_bfloat(low) | static_cast<u32>(float_to_bfloat(high)) << 16;
}

namespace emulation {

inline float e4m3_to_float(u32 b) {
    const u32 exponent = b >> 3 & 0xfu, mantissa = b & 7u, sign = (b & 0x80u) << 24;
    if ((b & 0x7fu) == 0x7fu) return bits_to_float(0x7fffffffu);
    if (exponent == 0) return bits_to_float(sign | float_to_bits(static_cast<float>(mantissa) * 0x1p-9f));
    return bits_to_float(sign | (exponent + 120) << 23 | mantissa << 20);
}

// The sum of two 16-bit numbers in f32 is exact enough that the second rounding is the only one that shows (24 ≥ 2·11 +
// 2 bits).
inline u16 add_halves(u16 a, u16 b) { return float_to_half(half_to_float(a) + half_to_float(b)); }
inline u16 add_bfloats(u16 a, u16 b) {
    return float_to_bfloat(bits_to_float(static_cast<u32>(a) << 16) + bits_to_float(static_cast<u32>(b) << 16));
}

}  // namespace emulation

MSDA_DEVICE void fp8_pair_to_floats(u16 pair, float& low, float& high) {
    low = emulation::e4m3_to_float(pair & 0xffu);
    high = emulation::e4m3_to_float(pair >> 8);
}

struct Halves {
    static float widen(u32 bits) { return half_to_float(static_cast<u16>(bits)); }
};
struct Bfloats {
    static float widen(u32 bits) { return bits_to_float(bits << 16); }
};
namespace emulation {

// The lanes bring their rows' addresses; each reads what is its own of all four tiles.
template <bool Turned>
inline Raw<16> load_tiles(const void* row, Site site) {
    announce(Access::shared_load, row, 16, site);
    u64 rows[32];
    __builtin_memcpy(rows, meet(Collective::load_tiles, reinterpret_cast<u64>(row), site), sizeof rows);
    const int g = lane() / 4, t = lane() % 4;
    Raw<16> out;
    for (int tile = 0; tile < 4; tile++) {
        u32 pair[2];
        for (int i = 0; i < 2; i++) {
            const int r = Turned ? 2 * t + i : g, c = Turned ? g : 2 * t + i;
            pair[i] = reinterpret_cast<const u16*>(rows[8 * tile + r])[c];
        }
        out.word[tile] = pair[0] | pair[1] << 16;
    }
    return out;
}

// The lanes meet three times, eight bytes each: both words of `a` for the lower products, both for the upper ones, and
// `b`. Products of 16-bit numbers are exact in double, and their sum is but for rounding far below f32's.
template <class Pair>
inline void multiply_tiles(float* d, const float* c, const u32* a, const u32* b, Site site) {
    u64 brought[3][32];
    const u32* words[3] = {a, a + 2, b};
    for (int i = 0; i < 3; i++) {
        const u64 word = words[i][0] | static_cast<u64>(words[i][1]) << 32;
        const u64* all = meet(Collective::multiply_tile, word, site);
        __builtin_memcpy(brought[i], all, sizeof brought[i]);
    }
    const int g = lane() / 4, t = lane() % 4;
    const auto half = [](u64 word, int which) { return Pair::widen(static_cast<u32>(word >> (16 * which)) & 0xffffu); };
    for (int i = 0; i < 4; i++) {
        double sum = static_cast<double>(c[i]);
        for (int k = 0; k < 16; k++) {
            const int from = k % 8 / 2;
            const float left = half(brought[k / 8][4 * g + from], i / 2 * 2 + k % 2);
            const float right = half(brought[2][4 * (2 * t + i % 2) + from], k / 8 * 2 + k % 2);
            sum += static_cast<double>(left) * static_cast<double>(right);
        }
        d[i] = static_cast<float>(sum);
    }
}

}  // namespace emulation

template <bool Turned>
MSDA_DEVICE Raw<16> load_tiles(const void* row, emulation::Site site = emulation::Site::here()) {
    return emulation::load_tiles<Turned>(row, site);
}
MSDA_DEVICE void multiply_tile(Halves, float* d, const float* c, const u32* a, const u32* b,
                               emulation::Site site = emulation::Site::here()) {
    emulation::multiply_tiles<Halves>(d, c, a, b, site);
}
MSDA_DEVICE void multiply_tile(Bfloats, float* d, const float* c, const u32* a, const u32* b,
                               emulation::Site site = emulation::Site::here()) {
    emulation::multiply_tiles<Bfloats>(d, c, a, b, site);
}

MSDA_DEVICE void red_f16x2(void* p, u32 pair, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 4, site);
    emulation::add_pair_relaxed(p, pair, emulation::add_halves);
}
MSDA_DEVICE void red_bf16x2(void* p, u32 pair, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 4, site);
    emulation::add_pair_relaxed(p, pair, emulation::add_bfloats);
}
MSDA_DEVICE void red_f16x8(void* p, Raw<16> r, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 16, site);
    for (int i = 0; i < 4; i++) emulation::add_pair_relaxed(static_cast<u32*>(p) + i, r.word[i], emulation::add_halves);
}
MSDA_DEVICE void red_bf16x8(void* p, Raw<16> r, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 16, site);
    for (int i = 0; i < 4; i++)
        emulation::add_pair_relaxed(static_cast<u32*>(p) + i, r.word[i], emulation::add_bfloats);
}

}  // namespace msda
