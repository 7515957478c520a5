// Lab 04: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"

// How many blocks of `threads` threads cover `n` elements, one thread an element. (Host code.)
LAB_EXPORT int blocks_for(int n, int threads) {
    // >>> blocks_for
    LAB_TODO;
    return 0;
    // <<< blocks_for
}

// c[i] = a[i] + b[i] for i < n. Launched with blocks_for(n, blockDim.x) blocks.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    // >>> vector_add
    LAB_TODO;
    // <<< vector_add
}
MSDA_ENTRY(vector_add)

// out (columns x rows) is the transpose of in (rows x columns), both dense. One block of 256 threads a tile of 32 x 32
// elements; tiles are numbered along the rows of `in`, block 0 has the tile at its upper left corner. The block has
// 33 * 32 floats of shared memory.
extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
    // >>> transpose
    LAB_TODO;
    // <<< transpose
}
MSDA_ENTRY(transpose)

// out[i][0 … 31] = table[index[i]][0 … 31] for i < n, zeros where index[i] is negative. Rows are 32 floats. 8 lanes share
// a row and each moves 16 bytes of it; blocks of 256 threads, one launched for every 32 rows or part of that.
extern "C" __global__ void gather(const float* table, const int* index, float* out, int n) {
    // >>> gather
    LAB_TODO;
    // <<< gather
}
MSDA_ENTRY(gather)

// sums[w] = the sum of in[32 * w … 32 * w + 31], for each warp w of the grid, stored by one lane of it. No shared memory: lanes exchange registers
// with shuffle_xor(value, mask), which gives each lane the value of lane (own number ^ mask).
extern "C" __global__ void warp_sums(const float* in, float* sums) {
    // >>> warp_sums
    LAB_TODO;
    // <<< warp_sums
}
MSDA_ENTRY(warp_sums)
