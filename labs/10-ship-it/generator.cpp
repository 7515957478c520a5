// Lab 10: your generator. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab_operator.hpp"

#include <cstdio>
#include <string>

#include "lab.cuh"

// Bytes of an element.
static int bytes_of(LabType type) { return type == lab_f32 ? 4 : 2; }
static const char* name_of(LabType type) { return type == lab_f32 ? "f32" : type == lab_f16 ? "f16" : "bf16"; }
static int points_of(const LabShape& shape) {
    int sum = 0;
    for (int l = 0; l < shape.levels; l++) sum += shape.points[l];
    return sum;
}

// Writes every config worth trying for a problem to configs[0], configs[1], …, at most `most`, the default first;
// returns how many.
LAB_EXPORT int space(const LabProblem* problem, LabConfig* configs, int most) {
    // >>> space
    LAB_TODO;
    return 0;
    // <<< space
}

// Blocks of the grid.
LAB_EXPORT long long blocks(const LabProblem* problem, const LabConfig* config) {
    // >>> blocks
    LAB_TODO;
    return 0;
    // <<< blocks
}

// Writes the CUDA source of a problem's kernel under a config to `text`, zero-terminated, at most `room` bytes; returns
// its length. The kernel is `operator_forward(const void* value, const void* locations, const void* weights, void*
// output)`.
LAB_EXPORT int emit(const LabProblem* problem, const LabConfig* config, char* text, int room) {
    std::string source;
    // >>> emit
    LAB_TODO;
    // <<< emit
    return std::snprintf(text, static_cast<std::size_t>(room), "%s", source.c_str());
}

// 1 when a database that holds `a` for a problem should replace it by `b`, else 0.
LAB_EXPORT int replaces(const LabRecord* a, const LabRecord* b) {
    // >>> replaces
    LAB_TODO;
    return 0;
    // <<< replaces
}
