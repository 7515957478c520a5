// Lab 09: the reference solution.
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
    while (*line == ' ' || *line == '\t') line++;
    if (*line == '@') {
        while (*line != 0 && *line != ' ' && *line != '\t') line++;
        while (*line == ' ' || *line == '\t') line++;
    }
    const auto begins = [&](const char* word) {
        int i = 0;
        while (word[i] != 0 && line[i] == word[i]) i++;
        return word[i] == 0;
    };
    if (begins("red.")) return red;
    if (!begins("atom.")) return nothing;
    for (; *line != 0 && *line != ' ' && *line != '\t' && *line != '\n'; line++)
        if (begins(".cas.")) return swap;
    return atom;
    // <<< classify
}

// The most suspicious kind of all lines of one kernel. `ptx` is the text of a module with several kernels; a kernel
// begins with ".visible .entry NAME(" and ends with a line "}".
LAB_EXPORT int investigate(const char* ptx, const char* kernel) {
    // >>> investigate
    const auto begins = [](const char* text, const char* word) {
        while (*word != 0 && *text == *word) text++, word++;
        return *word == 0;
    };
    const char mark[] = ".entry ";
    int worst = nothing;
    bool inside = false;
    for (const char* line = ptx; *line != 0;) {
        if (inside && *line == '}') return worst;
        if (inside) {
            const int kind = classify(line);
            if (kind > worst) worst = kind;
        }
        const char* end = line;
        for (; *end != 0 && *end != '\n'; end++) {
            if (!begins(end, mark)) continue;
            const char* name = end + sizeof mark - 1;
            int length = 0;
            while (kernel[length] != 0) length++;
            inside = begins(name, kernel) && name[length] == '(';
        }
        line = *end == 0 ? end : end + 1;
    }
    return worst;
    // <<< investigate
}

// What NVRTC makes of suspect.cu, by kernel and architecture; `capability` is 50, 70, 80 or 90.
LAB_EXPORT int predicted(int kernel, int capability) {
    // >>> predicted
    const int column = capability == 50 ? 0 : capability == 70 ? 1 : capability == 80 ? 2 : 3;
    const Kind kinds[6][4] = {
        // 50       70       80       90
        {red, red, red, red},      // 0 add_float
        {atom, atom, atom, atom},  // 1 add_float_and_look
        {swap, red, red, red},     // 2 add_double
        {swap, red, red, red},     // 3 add_half_pair
        {swap, swap, swap, red},   // 4 add_bfloat_pair
        {swap, swap, swap, swap},  // 5 largest_float
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
    if (value == f32_value || value == f64_value) return own_type;
    if (wanted != native) return scratch;
    return capability >= (value == bf16_value ? 90 : 60) ? own_type : refused;
    // <<< accumulator
}
