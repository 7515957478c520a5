// Lab 08: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"
#include "lab_shape.hpp"

// --- Three kernels with a race each. Find it and mend it. Blocks of 64 threads, shared memory for 64 ints. ---

// Writes each block's 64 numbers in reverse order.
extern "C" __global__ void reverse(const int* in, int* out) {
    // >>> barrier
    LAB_TODO;
    int* shared = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, first = blockIdx.x * 64;
    store_shared(shared + t, load(in + first + t));
    store(out + first + t, load_shared(shared + 63 - t));
    // <<< barrier
}
MSDA_ENTRY(reverse)

// Passes each block's 64 numbers on to the right `rounds` times, the last to the first.
extern "C" __global__ void rotate(const int* in, int* out, int rounds) {
    // >>> loop
    LAB_TODO;
    int* shared = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, first = blockIdx.x * 64;
    int v = load(in + first + t);
    for (int i = 0; i < rounds; i++) {
        store_shared(shared + t, v);
        __syncthreads();
        v = load_shared(shared + (t + 63) % 64);
    }
    store(out + first + t, v);
    // <<< loop
}
MSDA_ENTRY(rotate)

// Counts how often each number 0 … 7 occurs among each block's 64: out[block * 8 + number].
extern "C" __global__ void histogram(const int* in, int* out) {
    // >>> count
    LAB_TODO;
    int* count = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, number = load(in + blockIdx.x * 64 + t);
    if (t < 8) store_shared(count + t, 0);
    __syncthreads();
    store_shared(count + number, load_shared(count + number) + 1);
    __syncthreads();
    if (t < 8) store(out + blockIdx.x * 8 + t, load_shared(count + t));
    // <<< count
}
MSDA_ENTRY(histogram)

// --- The gradient of the value by scatter: every point adds to its four pixels. ---

struct Place {
    int row, column;
    float lx, ly;
    u32 valid;
};

// Your lab 05 and lab 06.
MSDA_DEVICE Place place_of(float x, float y, int height, int width) {
    Place place = {0, 0, 0, 0, 0};
    // <-- 05/place
    return place;
}
MSDA_DEVICE void corner_weights(const Place& place, float weight, float* corner) {
    // <-- 06/corner_weights
}

// Adds weight · w_c · g to grad_value, which holds zeros, with red_f32(address, number). One thread a (row, channel) of
// (batch, queries, heads, channels), blocks of 128 threads.
extern "C" __global__ void scatter(LabShape shape, int points, const float* locations, const float* weights,
                                   const float* grad_output, float* grad_value) {
    // >>> scatter
    LAB_TODO;
    // <<< scatter
}
MSDA_ENTRY(scatter)

// The same, 4 channels a thread with red_f32x4(address, a, b, c, d). The number of channels is divisible by 4. One thread
// a (row, four channels), blocks of 128 threads.
extern "C" __global__ void scatter_vector(LabShape shape, int points, const float* locations, const float* weights,
                                          const float* grad_output, float* grad_value) {
    // >>> vector
    LAB_TODO;
    // <<< vector
}
MSDA_ENTRY(scatter_vector)

// --- Sums that stall. ---

// The smallest whole number n with n + 1 == n in a float type of `mantissa` stored bits (f16: 10, bf16: 7, f32: 23), each
// sum being rounded to the nearest number of the type, and to the even one of two equally near.
LAB_EXPORT int stalls_at(int mantissa) {
    // >>> stalls_at
    LAB_TODO;
    return 0;
    // <<< stalls_at
}

// out[i] = the f32 sum i rounded once to f16, for i < n (n is even). One thread two elements, blocks of 128 threads. The
// two are stored as one word: floats_to_halves(low, high) rounds and packs two floats.
extern "C" __global__ void round_sums(const float* sums, f16* out, int n) {
    // >>> round
    LAB_TODO;
    // <<< round
}
MSDA_ENTRY(round_sums)

// For the check: every thread adds 1 to both halves of *pair, in the type itself.
extern "C" __global__ void add_ones(u32* half_pair, u32* bfloat_pair) {
    red_f16x2(half_pair, 0x3c003c00u);
    red_bf16x2(bfloat_pair, 0x3f803f80u);
}
MSDA_ENTRY(add_ones)
