// Lab 09: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"

// What an instruction or a kernel does to memory that others write too, from harmless to suspicious.
enum Kind : int {
    nothing = 0,  // no atomic
    red = 1,      // an addition without a result: the thread does not wait
    atom = 2,     // an addition that returns the old number: the thread waits for it
    swap = 3,     // compare-and-swap: part of a loop
};

// The kind of one line of PTX, e.g. "    @%p1 atom.global.cas.b32 %r4, [%rd2], %r9, %r3;".
LAB_EXPORT int classify(const char* line) {
    // >>> classify
    LAB_TODO;
    return nothing;
    // <<< classify
}

// The most suspicious kind of all lines of one kernel. `ptx` is the text of a module with several kernels; a kernel
// begins with ".visible .entry NAME(" and ends with a line "}".
LAB_EXPORT int investigate(const char* ptx, const char* kernel) {
    // >>> investigate
    LAB_TODO;
    return nothing;
    // <<< investigate
}

// What NVRTC makes of suspect.cu, by kernel and architecture; `capability` is 50, 70, 80 or 90.
LAB_EXPORT int predicted(int kernel, int capability) {
    // >>> predicted
    LAB_TODO;
    const int column = capability == 50 ? 0 : capability == 70 ? 1 : capability == 80 ? 2 : 3;
    const Kind kinds[6][4] = {
        // 50       70       80       90
        {nothing, nothing, nothing, nothing},  // 0 add_float
        {nothing, nothing, nothing, nothing},  // 1 add_float_and_look
        {nothing, nothing, nothing, nothing},  // 2 add_double
        {nothing, nothing, nothing, nothing},  // 3 add_half_pair
        {nothing, nothing, nothing, nothing},  // 4 add_bfloat_pair
        {nothing, nothing, nothing, nothing},  // 5 largest_float
    };
    return kinds[kernel][column];
    // <<< predicted
}

enum Type : int { f32_value = 0, f16_value = 1, bf16_value = 2, f64_value = 3 };
enum Wanted : int { automatic = 0, native = 1, f32_sums = 2, deterministic = 3 };
enum Sums : int { refused = 0, own_type = 1, scratch = 2 };

// How grad_value is summed for a value of type `value` on a GPU of this capability: in its own type, in f32 and rounded
// once at the end (`scratch`, also where an owner keeps the f32 sum in registers), or not at all, because the hardware
// lacks what was asked for.
LAB_EXPORT int accumulator(int value, int wanted, int capability) {
    // >>> accumulator
    LAB_TODO;
    return refused;
    // <<< accumulator
}
