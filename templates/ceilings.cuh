// Small kernels that measure what the memory system gives to accesses like the operator's: random rows gathered and
// added to, and plain streams. Not part of any operator; `msda bench` puts its results beside the times.
#pragma once

#include "arch.cuh"

namespace msda {

constexpr int ceiling_threads = 256;
constexpr int ceiling_batch = 8;  // loads of a lane in flight

MSDA_DEVICE u32 ceiling_thread() { return block_index() * ceiling_threads + static_cast<u32>(thread_index()); }

// The next of a sequence of pseudo-random rows below 2^bits: the upper bits of a linear congruential generator (Knuth's
// constants), three instructions a row.
MSDA_DEVICE i64 next_row(u32& state, int bits) {
    state = state * 1664525u + 1013904223u;
    return static_cast<i64>(state >> (32 - bits));
}

// Each group of RowBytes / 16 lanes reads `steps` (a multiple of ceiling_batch) random rows of a table of 2^bits rows.
// `sink` is written only if all sums happen to be a number that they are not, so that no load can be left out.
template <int RowBytes>
MSDA_DEVICE void gather_rows(const void* table, int bits, int steps, u32* sink) {
    constexpr u32 lanes = RowBytes / 16;
    u32 state = ceiling_thread() / lanes * 2654435761u;
    const char* column = static_cast<const char*>(table) + ceiling_thread() % lanes * 16;
    u32 sum = 0;
    for (int i = 0; i < steps; i += ceiling_batch) {
        Raw<16> row[ceiling_batch];
#pragma unroll
        for (int k = 0; k < ceiling_batch; k++) row[k] = load_global<16>(column + next_row(state, bits) * RowBytes);
#pragma unroll
        for (int k = 0; k < ceiling_batch; k++) sum += row[k].word[0] ^ row[k].word[1] ^ row[k].word[2] ^ row[k].word[3];
    }
    if (sum == 0x9e3779b9u) *sink = sum;
}

// The same with one 16-byte f32 vector red a lane in place of each load.
template <int RowBytes>
MSDA_DEVICE void red_rows(void* table, int bits, int steps) {
    constexpr u32 lanes = RowBytes / 16;
    u32 state = ceiling_thread() / lanes * 2654435761u;
    char* column = static_cast<char*>(table) + ceiling_thread() % lanes * 16;
    for (int i = 0; i < steps; i++)
        red_f32x4(reinterpret_cast<float*>(column + next_row(state, bits) * RowBytes), 1.0f, 1.0f, 1.0f, 1.0f);
}

// One vector of 16 bytes a thread: from[i] to to[i], below `count`.
MSDA_DEVICE void copy_vectors(const void* from, void* to, i64 count) {
    const i64 at = ceiling_thread();
    if (at < count) store_global<16>(static_cast<char*>(to) + at * 16, load_global<16>(static_cast<const char*>(from) + at * 16));
}

MSDA_DEVICE void fill_vectors(void* to, i64 count) {
    const i64 at = ceiling_thread();
    if (at < count) store_global<16>(static_cast<char*>(to) + at * 16, Raw<16>{});
}

}  // namespace msda
