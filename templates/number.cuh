// Element types and their conversion from and to raw registers: sums are kept in float (double for double), rounded once when packed.
#pragma once

#include "arch.cuh"

namespace msda {

// n / divisor for 0 ≤ n < 2^20, `inverse` being reciprocal(divisor). Exact: (n + ½) / divisor is at least ½ / divisor away from any integer, and off by
// less than (n + 1) / divisor · 2^-22.
MSDA_DEVICE int quotient_of(int n, float inverse) { return static_cast<int>((static_cast<float>(n) + 0.5f) * inverse); }

struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct e4m3 { u8 bits; };
using f32 = float;
using f64 = double;

// The type sums are kept in.
template <class T>
struct AccumulatorOf { using type = float; };
template <>
struct AccumulatorOf<f64> { using type = double; };

template <class T>
struct Number;

template <>
struct Number<f32> {
    template <int Bytes>
    static MSDA_DEVICE void unpack(const Raw<Bytes>& r, float* out) {
#pragma unroll
        for (int i = 0; i < Bytes / 4; i++) out[i] = bits_to_float(r.word[i]);
    }
    template <int Bytes>
    static MSDA_DEVICE Raw<Bytes> pack(const float* in) {
        Raw<Bytes> r;
#pragma unroll
        for (int i = 0; i < Bytes / 4; i++) r.word[i] = float_to_bits(in[i]);
        return r;
    }
};

template <>
struct Number<f64> {
    template <int Bytes>
    static MSDA_DEVICE void unpack(const Raw<Bytes>& r, double* out) {
#pragma unroll
        for (int i = 0; i < Bytes / 8; i++) out[i] = bits_to_double(r.word[2 * i], r.word[2 * i + 1]);
    }
    template <int Bytes>
    static MSDA_DEVICE Raw<Bytes> pack(const double* in) {
        Raw<Bytes> r;
#pragma unroll
        for (int i = 0; i < Bytes / 8; i++) {
            const u64 b = double_to_bits(in[i]);
            r.word[2 * i] = static_cast<u32>(b);
            r.word[2 * i + 1] = static_cast<u32>(b >> 32);
        }
        return r;
    }
};

// f16 and bf16 share everything but the conversion of one word.
template <class T>
struct SixteenBit {
    template <int Bytes>
    static MSDA_DEVICE void unpack(const Raw<Bytes>& r, float* out) {
        if constexpr (Bytes == 2) {
            out[0] = Number<T>::widen(r.word[0]);
        } else {
#pragma unroll
            for (int i = 0; i < Bytes / 4; i++) Number<T>::widen_pair(r.word[i], out[2 * i], out[2 * i + 1]);
        }
    }
    template <int Bytes>
    static MSDA_DEVICE Raw<Bytes> pack(const float* in) {
        Raw<Bytes> r;
        if constexpr (Bytes == 2) {
            r.word[0] = Number<T>::narrow(in[0]);
        } else {
#pragma unroll
            for (int i = 0; i < Bytes / 4; i++) r.word[i] = Number<T>::narrow_pair(in[2 * i], in[2 * i + 1]);
        }
        return r;
    }
};

template <>
struct Number<f16> : SixteenBit<f16> {
    static MSDA_DEVICE float widen(u16 b) { return half_to_float(b); }
    static MSDA_DEVICE void widen_pair(u32 w, float& low, float& high) { halves_to_floats(w, low, high); }
    static MSDA_DEVICE u16 narrow(float f) { return float_to_half(f); }
    static MSDA_DEVICE u32 narrow_pair(float low, float high) { return floats_to_halves(low, high); }
};

template <>
struct Number<bf16> : SixteenBit<bf16> {
    static MSDA_DEVICE float widen(u16 b) { return bits_to_float(static_cast<u32>(b) << 16); }
    static MSDA_DEVICE void widen_pair(u32 w, float& low, float& high) {
        low = bits_to_float(w << 16);
        high = bits_to_float(w & 0xffff0000u);
    }
    static MSDA_DEVICE u16 narrow(float f) { return float_to_bfloat(f); }
    static MSDA_DEVICE u32 narrow_pair(float low, float high) { return floats_to_bfloats(low, high); }
};

template <>
struct Number<e4m3> {
    template <int Bytes>
    static MSDA_DEVICE void unpack(const Raw<Bytes>& r, float* out) {
        if constexpr (Bytes == 1) {
            float unused;
            fp8_pair_to_floats(r.word[0], out[0], unused);
        } else if constexpr (Bytes == 2) {
            fp8_pair_to_floats(r.word[0], out[0], out[1]);
        } else {
#pragma unroll
            for (int i = 0; i < Bytes / 4; i++) {
                fp8_pair_to_floats(static_cast<u16>(r.word[i]), out[4 * i], out[4 * i + 1]);
                fp8_pair_to_floats(static_cast<u16>(r.word[i] >> 16), out[4 * i + 2], out[4 * i + 3]);
            }
        }
    }
};

// One element of type T at p, in the accumulator's type.
template <class T>
MSDA_DEVICE auto load_number(const void* p) {
    typename AccumulatorOf<T>::type v;
    Number<T>::unpack(load_global<sizeof(T)>(p), &v);
    return v;
}
template <class T, class A>
MSDA_DEVICE void store_number(void* p, A v) {
    const typename AccumulatorOf<T>::type a = static_cast<typename AccumulatorOf<T>::type>(v);
    store_global<sizeof(T)>(p, Number<T>::template pack<sizeof(T)>(&a));
}
// Two neighbouring elements, with one access where the tensor's alignment allows it.
template <class T, int Alignment>
MSDA_DEVICE void load_pair(const void* p, typename AccumulatorOf<T>::type* out) {
    constexpr int bytes = 2 * static_cast<int>(sizeof(T));
    if constexpr (Alignment >= bytes) {
        Number<T>::unpack(load_global<bytes>(p), out);
    } else {
        out[0] = load_number<T>(p);
        out[1] = load_number<T>(static_cast<const char*>(p) + sizeof(T));
    }
}
template <class T, int Alignment, class A>
MSDA_DEVICE void store_pair(void* p, A first, A second) {
    constexpr int bytes = 2 * static_cast<int>(sizeof(T));
    if constexpr (Alignment >= bytes) {
        const typename AccumulatorOf<T>::type both[2] = {static_cast<typename AccumulatorOf<T>::type>(first),
                                                         static_cast<typename AccumulatorOf<T>::type>(second)};
        store_global<bytes>(p, Number<T>::template pack<bytes>(both));
    } else {
        store_number<T>(p, first);
        store_number<T>(static_cast<char*>(p) + sizeof(T), second);
    }
}

}  // namespace msda
