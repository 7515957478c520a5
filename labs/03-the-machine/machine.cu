// Lab 03: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"

// --- The simulator. A warp's lanes 0 … lanes − 1 each access `bytes` bytes at address[lane] with one instruction. ---

// How many different units of `unit` bytes (32: sectors, 128: lines) the lanes touch. An access may straddle two units.
LAB_EXPORT int touched(const unsigned long long* address, int lanes, int bytes, int unit) {
    // >>> touched
    LAB_TODO;
    return 0;
    // <<< touched
}

// How many lanes are served together: 32 for accesses of up to 4 bytes, 16 for 8 bytes, 8 for 16 bytes.
LAB_EXPORT int lanes_together(int bytes) {
    // >>> lanes_together
    LAB_TODO;
    return 0;
    // <<< lanes_together
}

// How many wavefronts the access takes: lanes 0 … k − 1 are served together, then the next k, and so on; each such part
// takes as many wavefronts as the busiest bank has different words to give. Word = address / 4, bank = word % 32.
LAB_EXPORT int wavefronts(const unsigned long long* address, int lanes, int bytes) {
    // >>> wavefronts
    LAB_TODO;
    return 0;
    // <<< wavefronts
}

// --- The prediction. What each pattern of the kernel below costs one warp: sectors and wavefronts of its one access. ---

struct Cost {
    int sectors, wavefronts;
};
LAB_EXPORT Cost predicted(int pattern) {
    // >>> predicted
    LAB_TODO;
    // In your head first, then compare with your simulator. {sectors, wavefronts} of pattern 0, 1, …
    const Cost costs[] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
    return costs[pattern];
    // <<< predicted
}

// The kernel that is measured, on one warp. `in` begins at a line.
extern "C" __global__ void patterns(int pattern, const float* in, float* out) {
    const int t = threadIdx.x;
    float v = 0;
    if (pattern == 0) v = load(in + t);                                              // neighbours
    if (pattern == 1) v = load(in + t + 1);                                          // neighbours, one float further
    if (pattern == 2) v = load(in + 7);                                              // all the same
    if (pattern == 3) v = load(in + 2 * t);                                          // every second
    if (pattern == 4) v = load(in + 32 * t);                                         // a column of a 32-wide matrix
    if (pattern == 5) v = load(in + 33 * t);                                         // a column of a 33-wide matrix
    if (pattern == 6) v = load(reinterpret_cast<const Float4*>(in) + t).x;           // 16 bytes a lane
    if (pattern == 7) v = load(reinterpret_cast<const Float4*>(in + t / 4 * 64) + t % 4).x;  // 64-byte rows, 256 bytes apart
    store(out + t, v);
}
MSDA_ENTRY(patterns)
