// Lab 03: the reference solution.
#include "lab.cuh"

// --- The simulator. A warp's lanes 0 … lanes − 1 each access `bytes` bytes at address[lane] with one instruction. ---

// How many different units of `unit` bytes (32: sectors, 128: lines) the lanes touch. An access may straddle two units.
LAB_EXPORT int touched(const unsigned long long* address, int lanes, int bytes, int unit) {
    // >>> touched
    unsigned long long seen[64];
    int count = 0;
    for (int lane = 0; lane < lanes; lane++)
        for (unsigned long long u = address[lane] / unit; u <= (address[lane] + bytes - 1) / unit; u++) {
            bool known = false;
            for (int i = 0; i < count; i++) known |= seen[i] == u;
            if (!known) seen[count++] = u;
        }
    return count;
    // <<< touched
}

// How many lanes are served together: 32 for accesses of up to 4 bytes, 16 for 8 bytes, 8 for 16 bytes.
LAB_EXPORT int lanes_together(int bytes) {
    // >>> lanes_together
    return bytes > 8 ? 8 : bytes > 4 ? 16 : 32;
    // <<< lanes_together
}

// How many wavefronts the access takes: lanes 0 … k − 1 are served together, then the next k, and so on; each such part
// takes as many wavefronts as the busiest bank has different words to give. Word = address / 4, bank = word % 32.
LAB_EXPORT int wavefronts(const unsigned long long* address, int lanes, int bytes) {
    // >>> wavefronts
    int sum = 0;
    for (int first = 0; first < lanes; first += lanes_together(bytes)) {
        int load[32] = {}, busiest = 0, count = 0;
        unsigned long long seen[64];
        for (int lane = first; lane < lanes && lane < first + lanes_together(bytes); lane++)
            for (unsigned long long word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; word++) {
                bool known = false;
                for (int i = 0; i < count; i++) known |= seen[i] == word;
                if (known) continue;
                seen[count++] = word;
                if (++load[word % 32] > busiest) busiest = load[word % 32];
            }
        sum += busiest;
    }
    return sum;
    // <<< wavefronts
}

// --- The prediction. What each pattern of the kernel below costs one warp: sectors and wavefronts of its one access. ---

struct Cost {
    int sectors, wavefronts;
};
LAB_EXPORT Cost predicted(int pattern) {
    // >>> predicted
    const Cost costs[] = {{4, 1}, {5, 1}, {1, 1}, {8, 2}, {32, 32}, {32, 1}, {16, 4}, {16, 8}};
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
