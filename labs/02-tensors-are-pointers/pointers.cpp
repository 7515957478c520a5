// Lab 02: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"

// The place of element [b, s, m, d] of a dense tensor of shape (B, S, M, D), counted in elements. B itself is not
// needed.
LAB_EXPORT long long dense_offset(int S, int M, int D, int b, int s, int m, int d) {
    // >>> dense_offset
    LAB_TODO;
    return 0;
    // <<< dense_offset
}

// The same with strides: the distance in elements from one image, pixel or head to the next. Channels are neighbours.
LAB_EXPORT long long strided_offset(const long long stride[3], int b, int s, int m, int d) {
    // >>> strided_offset
    LAB_TODO;
    return 0;
    // <<< strided_offset
}

// The other way round: which [b, s, m, d] is element `offset` of the dense tensor? Write b, s, m, d to index[0 … 3].
LAB_EXPORT void index_of(int S, int M, int D, long long offset, int index[4]) {
    // >>> index_of
    LAB_TODO;
    // <<< index_of
}

// The number, on the S axis, of the pixel that is the right lower neighbour of (row, column) on level l, or −1 when
// that neighbour is not on the level.
LAB_EXPORT int right_lower_pixel(const int* height, const int* width, const int* start, int l, int row, int column) {
    // >>> right_lower_pixel
    LAB_TODO;
    return 0;
    // <<< right_lower_pixel
}

// Copies a dense (B, S, M, D) tensor into a dense (B, M, S, D) one.
LAB_EXPORT void heads_first(int B, int S, int M, int D, const float* from, float* to) {
    // >>> heads_first
    LAB_TODO;
    // <<< heads_first
}

// The largest alignment in bytes, at most 16, that all rows of the tensor have: row [b, s, m] begins `address` + the
// row's offset · bytes behind. `bytes` is the size of an element, a power of two, and divides `address`.
LAB_EXPORT int row_alignment(unsigned long long address, const long long stride[3], int bytes) {
    // >>> row_alignment
    LAB_TODO;
    return 0;
    // <<< row_alignment
}
