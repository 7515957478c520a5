// The C-like face of an operator: what lab 10's checker, the project's test cases and its tuner need to know of one.
#pragma once

#include "lab_shape.hpp"

// Element types.
enum LabType : int { lab_f32 = 0, lab_f16 = 1, lab_bf16 = 2 };

// A forward problem. `stride` are the distances in elements from one image, pixel and head of value to the next; all other
// tensors are dense. The output has the value's type.
struct LabProblem {
    LabShape shape;
    LabType value, location, weight;
    long long stride[3];
    int alignment;  // bytes that all tensors' addresses are divisible by, a power of two ≤ 16
};

// One way to run it.
struct LabConfig {
    int vector;   // bytes of value a thread loads at once
    int threads;  // threads a block
};

// The best result known of one problem on one GPU, as a tuning database keeps it.
struct LabRecord {
    double time_us, default_us;  // of the winner and of the default config, in the same run
    int samples;                 // behind time_us
    unsigned long long digest;   // of the whole record
};
