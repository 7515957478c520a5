// Lab 10: the reference solution.
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
    const int bytes = bytes_of(problem->value);
    int widest = problem->alignment;
    const auto limit = [&](long long distance) {
        while (distance * bytes % widest != 0) widest /= 2;
    };
    for (const long long stride : problem->stride) limit(stride);
    limit(problem->shape.channels);
    int count = 0;
    for (int vector = widest; vector >= bytes; vector /= 2)
        for (const int threads : {128, 64, 256})
            if (count < most) configs[count++] = {vector, threads};
    return count;
    // <<< space
}

// Blocks of the grid.
LAB_EXPORT long long blocks(const LabProblem* problem, const LabConfig* config) {
    // >>> blocks
    const LabShape& shape = problem->shape;
    const long long parts = shape.channels * bytes_of(problem->value) / config->vector;
    const long long all = static_cast<long long>(shape.batch) * shape.queries * shape.heads * parts;
    return (all + config->threads - 1) / config->threads;
    // <<< blocks
}

// Writes the CUDA source of a problem's kernel under a config to `text`, zero-terminated, at most `room` bytes; returns
// its length. The kernel is `operator_forward(const void* value, const void* locations, const void* weights, void*
// output)`.
LAB_EXPORT int emit(const LabProblem* problem, const LabConfig* config, char* text, int room) {
    std::string source;
    // >>> emit
    const LabShape& shape = problem->shape;
    const auto constant = [&](const char* type, const char* name, long long v) {
        source += std::string("    static constexpr ") + type + " " + name + " = " + std::to_string(v) + ";\n";
    };
    const auto by_level = [&](const char* name, const int* numbers) {
        source += std::string("    static MSDA_DEVICE int ") + name + "(int l) { return ";
        for (int l = 0; l + 1 < shape.levels; l++)
            source += "l == " + std::to_string(l) + " ? " + std::to_string(numbers[l]) + " : ";
        source += std::to_string(numbers[shape.levels - 1]) + "; }\n";
    };
    source = "#include \"kernel.cuh\"\n\nstruct Traits {\n";
    source += std::string("    using value_t = ") + name_of(problem->value) + ";\n";
    source += std::string("    using location_t = ") + name_of(problem->location) + ";\n";
    source += std::string("    using weight_t = ") + name_of(problem->weight) + ";\n";
    constant("int", "batch", shape.batch);
    constant("int", "queries", shape.queries);
    constant("int", "heads", shape.heads);
    constant("int", "channels", shape.channels);
    constant("int", "points", points_of(shape));
    constant("int", "vector", config->vector);
    constant("int", "threads", config->threads);
    constant("i64", "stride_image", problem->stride[0]);
    constant("i64", "stride_pixel", problem->stride[1]);
    constant("i64", "stride_head", problem->stride[2]);
    by_level("height", shape.height);
    by_level("width", shape.width);
    by_level("start", shape.start);
    source += "    static MSDA_DEVICE int level_of(int p) { return ";
    for (int l = 0, first = 0; l + 1 < shape.levels; l++) {
        first += shape.points[l];
        source += "p < " + std::to_string(first) + " ? " + std::to_string(l) + " : ";
    }
    source += std::to_string(shape.levels - 1) + "; }\n};\n\n";
    source += "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(config->threads) +
              ") operator_forward(const void* value, const void* locations, const void* weights, void* output) {\n"
              "    forward<Traits>(value, locations, weights, output);\n}\nMSDA_ENTRY(operator_forward)\n";
    // <<< emit
    return std::snprintf(text, static_cast<std::size_t>(room), "%s", source.c_str());
}

// 1 when a database that holds `a` for a problem should replace it by `b`, else 0.
LAB_EXPORT int replaces(const LabRecord* a, const LabRecord* b) {
    // >>> replaces
    const double a_speed = a->default_us / a->time_us, b_speed = b->default_us / b->time_us;
    if (a_speed != b_speed) return b_speed > a_speed;
    if (a->samples != b->samples) return b->samples > a->samples;
    return b->digest > a->digest;
    // <<< replaces
}
