// How far a tensor lies from the double-precision reference, summed up where both are: a verification of many candidates then reads a few
// numbers from the GPU, not tensors. Not part of any operator.
#pragma once

#include "number.cuh"

namespace msda {

constexpr int compare_threads = 256;

// How many elements there are, and how many warps share them.
struct Stretch { i64 count, warps; };

// What one warp found, as three doubles: the sums of (got − reference)² and of reference², and how many elements they are of. Left out are
// elements that are not finite on both sides, or whose square is not: a count below Stretch::count says that the host must look.
template <class T>
MSDA_DEVICE void compare(const double* reference, const void* got, double* distances, Stretch stretch) {
    constexpr double largest = 1.7976931348623157e308;
    const i64 thread = static_cast<i64>(block_index()) * compare_threads + thread_index();
    double error = 0, norm = 0, counted = 0;
    for (i64 i = thread; i < stretch.count; i += stretch.warps * 32) {
        const double r = load_number<f64>(reference + i);
        const double e = static_cast<double>(load_number<T>(static_cast<const char*>(got) + i * static_cast<i64>(sizeof(T)))) - r;
        if (!(e == 0 || (e * e > 0 && e * e <= largest))) continue;  // NaN included
        error += e * e;
        norm += r * r;
        counted += 1;
    }
#pragma unroll
    for (int k = 16; k; k >>= 1) {
        error += shuffle_xor(error, k);
        norm += shuffle_xor(norm, k);
        counted += shuffle_xor(counted, k);
    }
    if (thread_index() % 32 != 0) return;
    double* own = distances + thread / 32 * 3;
    store_number<f64>(own, error);
    store_number<f64>(own + 1, norm);
    store_number<f64>(own + 2, counted);
}

}  // namespace msda
