// Host numbers of every element type: exact widening, narrowing that rounds once to nearest even, and reads and writes
// through a Type. The conversions are integer code without branches, so loops over them vectorise; they hold under
// flush-to-zero modes as well.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "msda/problem.hpp"

namespace msda::host {

// IEEE binary16, bfloat16 and OCP fp8 e4m3 (no infinity; 0x7f and 0xff are NaN) as raw bits.
struct f16 {
    std::uint16_t bits;
};
struct bf16 {
    std::uint16_t bits;
};
struct e4m3 {
    std::uint8_t bits;
};

// The type sums over elements of T are kept in: double for double, else float.
template <class T>
struct AccumulatorOf {
    using type = float;
};
template <>
struct AccumulatorOf<double> {
    using type = double;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

// --- widening: exact; a NaN becomes quiet and keeps sign and payload
// ---------------------------------------------------------------
inline double widen(double v) { return v; }
inline float widen(float v) { return v; }
inline float widen(bf16 v) { return std::bit_cast<float>(std::uint32_t{v.bits} << 16); }

inline float widen(f16 v) {
    const std::uint32_t magnitude = v.bits & 0x7fffu;
    const std::uint32_t sign = (v.bits & 0x8000u) << 16;
    const std::uint32_t normal = (magnitude << 13) + 0x38000000u;  // exponent bias 15 -> 127
    const std::uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    // Subnormals: build 2^-14 · (1 + fraction), then take 2^-14 away again.
    const float small = std::bit_cast<float>(normal + 0x00800000u) - std::bit_cast<float>(0x38800000u);
    const std::uint32_t finite = magnitude < 0x0400u ? std::bit_cast<std::uint32_t>(small) : normal;
    return std::bit_cast<float>((magnitude >= 0x7c00u ? (normal + 0x38000000u) | quiet : finite) | sign);
}

inline float widen(e4m3 v) {
    const std::uint32_t magnitude = v.bits & 0x7fu;
    const std::uint32_t sign = (v.bits & 0x80u) << 24;
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9f;
    const std::uint32_t normal = (magnitude << 20) + 0x3c000000u;  // exponent bias 7 -> 127
    const std::uint32_t finite = magnitude < 8u ? std::bit_cast<std::uint32_t>(small) : normal;
    return std::bit_cast<float>((magnitude == 0x7fu ? 0x7fc00000u : finite) | sign);
}

// --- narrowing from float: round to nearest even
// ----------------------------------------------------------------------------------
template <class T>
T narrow(float v);

template <>
inline float narrow<float>(float v) {
    return v;
}
template <>
inline double narrow<double>(float v) {
    return v;
}

template <>
inline f16 narrow<f16>(float v) {
    const auto u = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t magnitude = u & 0x7fffffffu;
    const std::uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13;
    // Below 2^-14: adding 0.5 lets the adder round to a multiple of 2^-24.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const std::uint32_t huge = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
    const std::uint32_t finite = magnitude < 0x38800000u ? small : normal;
    return {static_cast<std::uint16_t>((magnitude >= 0x47800000u ? huge : finite) | (u >> 16 & 0x8000u))};
}

template <>
inline bf16 narrow<bf16>(float v) {
    const auto u = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    return {static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : rounded)};
}

// Saturates: what is above 448, infinities too, becomes 448 (as PTX cvt.rn.satfinite does).
template <>
inline e4m3 narrow<e4m3>(float v) {
    const auto u = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t magnitude = u & 0x7fffffffu;
    const std::uint32_t limited = magnitude > 0x43e00000u ? 0x43e00000u : magnitude;
    const std::uint32_t normal = (limited - 0x3c000000u + 0x7ffffu + (limited >> 20 & 1u)) >> 20;
    // Below 2^-6: adding 2^14 lets the adder round to a multiple of 2^-9.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(limited) + 0x1p14f) - 0x46800000u;
    const std::uint32_t finite = limited < 0x3c800000u ? small : normal;
    return {static_cast<std::uint8_t>((magnitude > 0x7f800000u ? 0x7fu : finite) | (u >> 24 & 0x80u))};
}

// --- narrowing from double: one rounding, not two
// ----------------------------------------------------------------------------------- The float toward zero of v, with
// its last bit set when that was inexact; rounding it again equals rounding v once.
inline float round_to_odd(double v) {
    const auto nearest = static_cast<float>(v);
    const auto back = static_cast<double>(nearest);
    if (back == v || v != v) return nearest;
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    const bool away = (v < 0 ? -back : back) > (v < 0 ? -v : v);
    return std::bit_cast<float>((away ? bits - 1u : bits) | 1u);
}

template <class T>
inline T narrow(double v) {
    return narrow<T>(round_to_odd(v));
}
template <>
inline float narrow<float>(double v) {
    return static_cast<float>(v);
}
template <>
inline double narrow<double>(double v) {
    return v;
}

// --- through a Type
// -------------------------------------------------------------------------------------------------------------------
// Calls f with a zero element of the type: visit(type, [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) visit(Type type, F&& f) {
    switch (type) {
        case Type::f16:
            return f(f16{});
        case Type::bf16:
            return f(bf16{});
        case Type::f64:
            return f(double{});
        case Type::e4m3:
            return f(e4m3{});
        case Type::f32:
            break;
    }
    return f(float{});
}

// Element i of an array of any alignment, and its overwriting with v rounded once. O(1).
template <class T>
T load(const void* array, std::int64_t i) {
    T v;
    std::memcpy(&v, static_cast<const char*>(array) + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return v;
}
template <class T>
void store(void* array, std::int64_t i, T v) {
    std::memcpy(static_cast<char*>(array) + i * static_cast<std::int64_t>(sizeof(T)), &v, sizeof(T));
}
inline double read(Type type, const void* array, std::int64_t i) {
    return visit(type, [&](auto zero) { return static_cast<double>(widen(load<decltype(zero)>(array, i))); });
}
inline void write(Type type, void* array, std::int64_t i, double v) {
    visit(type, [&](auto zero) { store(array, i, narrow<decltype(zero)>(v)); });
}

}  // namespace msda::host
