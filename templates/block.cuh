// What the threads of a block do together.
#pragma once

#include "arch.cuh"

namespace msda {

// Turns counts[0, N) into the sums of all before each; `partial` holds one word a warp. Barriers on both sides.
template <int Threads, int N>
MSDA_DEVICE void prefix_sum(int* counts, int* partial) {
    constexpr int each = (N + Threads - 1) / Threads;
    int value[each], sum = 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = thread_index() * each + k;
        value[k] = sum;
        if (i < N) sum += load_shared(counts + i);
    }
    int up = sum;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int other = shuffle_up(up, d);
        if (thread_index() % 32 >= d) up += other;
    }
    if (thread_index() % 32 == 31) store_shared(partial + thread_index() / 32, up);
    block_barrier();
    int base = up - sum;
    for (int w = 0; w < thread_index() / 32; w++) base += load_shared(partial + w);
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = thread_index() * each + k;
        if (i < N) store_shared(counts + i, base + value[k]);
    }
    block_barrier();
}

}  // namespace msda
