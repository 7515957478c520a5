// The shapes that published detection, segmentation and driving models run: what the tool calls by name and the
// benchmarks measure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "msda/problem.hpp"

namespace msda {

// One shape; the texts live as long as the program.
struct ModelShape {
    std::string_view id;     // "ddetr-enc"
    std::string_view model;  // "Deformable DETR"
    std::string_view role;   // "encoder self"
    std::int64_t batch, queries, heads, head_dim;
    std::vector<Level> levels;         // in memory order, one after the other
    std::vector<std::int64_t> points;  // of each level
    Sampling sampling;                 // what the model runs
    std::string_view source;           // repository, commit and file
    std::string_view note;
};

// All shapes, in the order of the table.
std::span<const ModelShape> model_shapes();

// The shape of an id. Throws Error(invalid_problem) naming the closest ids there are.
const ModelShape& model_shape(std::string_view id);

// The normalised problem of a shape: value (and with it output) of type `value`, locations and weights of the types
// given.
Problem problem_of(const ModelShape& shape, Pass pass, Type value, Type location, Type weight);
// With fp32 locations (f64 for f64 values) and weights of the value's type; of e4m3 values, f16 weights and output.
Problem problem_of(const ModelShape& shape, Pass pass, Type value);

}  // namespace msda
