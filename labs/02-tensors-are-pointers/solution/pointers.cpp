// Lab 02: the reference solution.
#include "lab.cuh"

// The place of element [b, s, m, d] of a dense tensor of shape (B, S, M, D), counted in elements. B itself is not
// needed.
LAB_EXPORT long long dense_offset(int S, int M, int D, int b, int s, int m, int d) {
    // >>> dense_offset
    return ((static_cast<long long>(b) * S + s) * M + m) * D + d;
    // <<< dense_offset
}

// The same with strides: the distance in elements from one image, pixel or head to the next. Channels are neighbours.
LAB_EXPORT long long strided_offset(const long long stride[3], int b, int s, int m, int d) {
    // >>> strided_offset
    return b * stride[0] + s * stride[1] + m * stride[2] + d;
    // <<< strided_offset
}

// The other way round: which [b, s, m, d] is element `offset` of the dense tensor? Write b, s, m, d to index[0 … 3].
LAB_EXPORT void index_of(int S, int M, int D, long long offset, int index[4]) {
    // >>> index_of
    index[3] = static_cast<int>(offset % D);
    index[2] = static_cast<int>(offset / D % M);
    index[1] = static_cast<int>(offset / D / M % S);
    index[0] = static_cast<int>(offset / D / M / S);
    // <<< index_of
}

// The number, on the S axis, of the pixel that is the right lower neighbour of (row, column) on level l, or −1 when
// that neighbour is not on the level.
LAB_EXPORT int right_lower_pixel(const int* height, const int* width, const int* start, int l, int row, int column) {
    // >>> right_lower_pixel
    if (row + 1 >= height[l] || column + 1 >= width[l]) return -1;
    if (row + 1 < 0 || column + 1 < 0) return -1;
    return start[l] + (row + 1) * width[l] + column + 1;
    // <<< right_lower_pixel
}

// Copies a dense (B, S, M, D) tensor into a dense (B, M, S, D) one.
LAB_EXPORT void heads_first(int B, int S, int M, int D, const float* from, float* to) {
    // >>> heads_first
    for (int b = 0; b < B; b++)
        for (int s = 0; s < S; s++)
            for (int m = 0; m < M; m++)
                for (int d = 0; d < D; d++)
                    to[((static_cast<long long>(b) * M + m) * S + s) * D + d] =
                        from[((static_cast<long long>(b) * S + s) * M + m) * D + d];
    // <<< heads_first
}

// The largest alignment in bytes, at most 16, that all rows of the tensor have: row [b, s, m] begins `address` + the
// row's offset · bytes behind. `bytes` is the size of an element, a power of two, and divides `address`.
LAB_EXPORT int row_alignment(unsigned long long address, const long long stride[3], int bytes) {
    // >>> row_alignment
    unsigned long long all = address | 16;
    for (int i = 0; i < 3; i++) all |= static_cast<unsigned long long>(stride[i] * bytes);
    return static_cast<int>(all & (~all + 1));
    // <<< row_alignment
}
