// Lab 01: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"
#include "lab_shape.hpp"

// The image coordinate of a location: x · size − 0.5 with a single rounding, which fused_multiply_add(a, b, c) = a · b
// + c has and a multiplication followed by a subtraction has not.
LAB_EXPORT float image_coordinate(float x, int size) {
    // >>> image_coordinate
    LAB_TODO;
    return 0;
    // <<< image_coordinate
}

// The value of one channel of a map at (x, y) in 0..1, bilinearly. The channel of pixel (row, column) is
// map[(row * width + column) * stride].
LAB_EXPORT float bilinear(const float* map, int height, int width, int stride, float x, float y) {
    // >>> bilinear
    LAB_TODO;
    return 0;
    // <<< bilinear
}

// The whole operator: output[b,q,m,c] = sum over levels l and their points p of
// weights[b,q,m,l,p] · bilinear(channel c of head m of level l of image b, at locations[b,q,m,l,p]).
LAB_EXPORT void forward(LabShape shape, const float* value, const float* locations, const float* weights,
                        float* output) {
    // >>> forward
    LAB_TODO;
    // <<< forward
}
