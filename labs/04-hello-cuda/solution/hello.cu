// Lab 04: the reference solution.
#include "lab.cuh"

// How many blocks of `threads` threads cover `n` elements, one thread an element. (Host code.)
LAB_EXPORT int blocks_for(int n, int threads) {
    // >>> blocks_for
    return (n + threads - 1) / threads;
    // <<< blocks_for
}

// c[i] = a[i] + b[i] for i < n. Launched with blocks_for(n, blockDim.x) blocks.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    // >>> vector_add
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(c + i, load(a + i) + load(b + i));
    // <<< vector_add
}
MSDA_ENTRY(vector_add)

// out (columns x rows) is the transpose of in (rows x columns), both dense. One block of 256 threads a tile of 32 x 32
// elements; tiles are numbered along the rows of `in`, block 0 has the tile at its upper left corner. The block has
// 33 * 32 floats of shared memory.
extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
    // >>> transpose
    float* tile = reinterpret_cast<float*>(shared_memory());
    const int tiles_across = (columns + 31) / 32;
    const int first_row = blockIdx.x / tiles_across * 32, first_column = blockIdx.x % tiles_across * 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = warp; k < 32; k += 8) {
        const int row = first_row + k, column = first_column + lane;
        if (row < rows && column < columns) store_shared(tile + k * 33 + lane, load(in + row * columns + column));
    }
    __syncthreads();
    for (int k = warp; k < 32; k += 8) {
        const int row = first_row + lane, column = first_column + k;
        if (row < rows && column < columns) store(out + column * rows + row, load_shared(tile + lane * 33 + k));
    }
    // <<< transpose
}
MSDA_ENTRY(transpose)

// out[i][0 … 31] = table[index[i]][0 … 31] for i < n, zeros where index[i] is negative. Rows are 32 floats. 8 lanes share
// a row and each moves 16 bytes of it; blocks of 256 threads, one launched for every 32 rows or part of that.
extern "C" __global__ void gather(const float* table, const int* index, float* out, int n) {
    // >>> gather
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, part = threadIdx.x % 8;
    if (row >= n) return;
    const int from = load(index + row);
    Float4 v = {0, 0, 0, 0};
    if (from >= 0) v = load(reinterpret_cast<const Float4*>(table + from * 32) + part);
    store(reinterpret_cast<Float4*>(out + row * 32) + part, v);
    // <<< gather
}
MSDA_ENTRY(gather)

// sums[w] = the sum of in[32 * w … 32 * w + 31], for each warp w of the grid, stored by one lane of it. No shared memory: lanes exchange registers
// with shuffle_xor(value, mask), which gives each lane the value of lane (own number ^ mask).
extern "C" __global__ void warp_sums(const float* in, float* sums) {
    // >>> warp_sums
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = load(in + i);
    for (int mask = 16; mask > 0; mask /= 2) v += shuffle_xor(v, mask);
    if (i % 32 == 0) store(sums + i / 32, v);
    // <<< warp_sums
}
MSDA_ENTRY(warp_sums)
