// Lab 08: the reference solution.
#include "lab.cuh"
#include "lab_shape.hpp"

// --- Three kernels with a race each. Find it and mend it. Blocks of 64 threads, shared memory for 64 ints. ---

// Writes each block's 64 numbers in reverse order.
extern "C" __global__ void reverse(const int* in, int* out) {
    // >>> barrier
    int* shared = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, first = blockIdx.x * 64;
    store_shared(shared + t, load(in + first + t));
    __syncthreads();
    store(out + first + t, load_shared(shared + 63 - t));
    // <<< barrier
}
MSDA_ENTRY(reverse)

// Passes each block's 64 numbers on to the right `rounds` times, the last to the first.
extern "C" __global__ void rotate(const int* in, int* out, int rounds) {
    // >>> loop
    int* shared = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, first = blockIdx.x * 64;
    int v = load(in + first + t);
    for (int i = 0; i < rounds; i++) {
        store_shared(shared + t, v);
        __syncthreads();
        v = load_shared(shared + (t + 63) % 64);
        __syncthreads();
    }
    store(out + first + t, v);
    // <<< loop
}
MSDA_ENTRY(rotate)

// Counts how often each number 0 … 7 occurs among each block's 64: out[block * 8 + number].
extern "C" __global__ void histogram(const int* in, int* out) {
    // >>> count
    int* count = reinterpret_cast<int*>(shared_memory());
    const int t = threadIdx.x, number = load(in + blockIdx.x * 64 + t);
    if (t < 8) store_shared(count + t, 0);
    __syncthreads();
    shared_add(count + number, 1);
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
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.batch * shape.queries * shape.heads * shape.channels) return;
    const int channel = i % shape.channels, row = i / shape.channels;
    const int head = row % shape.heads, image = row / shape.heads / shape.queries;
    const float g = load(grad_output + i);
    int at = row * points;
    for (int l = 0; l < shape.levels; l++)
        for (int p = 0; p < shape.points[l]; p++, at++) {
            const int width = shape.width[l];
            const Place place = place_of(load(locations + 2 * at), load(locations + 2 * at + 1), shape.height[l], width);
            float corner[4];
            corner_weights(place, load(weights + at), corner);
            for (int c = 0; c < 4; c++) {
                if (!(place.valid >> c & 1)) continue;
                const int pixel = image * shape.pixels + shape.start[l] + (place.row + c / 2) * width + place.column + c % 2;
                red_f32(grad_value + (pixel * shape.heads + head) * shape.channels + channel, corner[c] * g);
            }
        }
    // <<< scatter
}
MSDA_ENTRY(scatter)

// The same, 4 channels a thread with red_f32x4(address, a, b, c, d). The number of channels is divisible by 4. One thread
// a (row, four channels), blocks of 128 threads.
extern "C" __global__ void scatter_vector(LabShape shape, int points, const float* locations, const float* weights,
                                          const float* grad_output, float* grad_value) {
    // >>> vector
    const int i = blockIdx.x * blockDim.x + threadIdx.x, parts = shape.channels / 4;
    if (i >= shape.batch * shape.queries * shape.heads * parts) return;
    const int part = i % parts, row = i / parts;
    const int head = row % shape.heads, image = row / shape.heads / shape.queries;
    const Float4 g = load(reinterpret_cast<const Float4*>(grad_output) + i);
    int at = row * points;
    for (int l = 0; l < shape.levels; l++)
        for (int p = 0; p < shape.points[l]; p++, at++) {
            const int width = shape.width[l];
            const Place place = place_of(load(locations + 2 * at), load(locations + 2 * at + 1), shape.height[l], width);
            float corner[4];
            corner_weights(place, load(weights + at), corner);
            for (int c = 0; c < 4; c++) {
                if (!(place.valid >> c & 1)) continue;
                const int pixel = image * shape.pixels + shape.start[l] + (place.row + c / 2) * width + place.column + c % 2;
                const float w = corner[c];
                red_f32x4(grad_value + (pixel * shape.heads + head) * shape.channels + 4 * part, w * g.x, w * g.y, w * g.z,
                          w * g.w);
            }
        }
    // <<< vector
}
MSDA_ENTRY(scatter_vector)

// --- Sums that stall. ---

// The smallest whole number n with n + 1 == n in a float type of `mantissa` stored bits (f16: 10, bf16: 7, f32: 23), each
// sum being rounded to the nearest number of the type, and to the even one of two equally near.
LAB_EXPORT int stalls_at(int mantissa) {
    // >>> stalls_at
    return 2 << mantissa;
    // <<< stalls_at
}

// out[i] = the f32 sum i rounded once to f16, for i < n (n is even). One thread two elements, blocks of 128 threads. The
// two are stored as one word: floats_to_halves(low, high) rounds and packs two floats.
extern "C" __global__ void round_sums(const float* sums, f16* out, int n) {
    // >>> round
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) store(reinterpret_cast<u32*>(out + i), floats_to_halves(load(sums + i), load(sums + i + 1)));
    // <<< round
}
MSDA_ENTRY(round_sums)

// For the check: every thread adds 1 to both halves of *pair, in the type itself.
extern "C" __global__ void add_ones(u32* half_pair, u32* bfloat_pair) {
    red_f16x2(half_pair, 0x3c003c00u);
    red_bf16x2(bfloat_pair, 0x3f803f80u);
}
MSDA_ENTRY(add_ones)
