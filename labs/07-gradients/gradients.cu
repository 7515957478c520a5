// Lab 07: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"
#include "lab_shape.hpp"

struct Place {
    int row, column;
    float lx, ly;
    u32 valid;
};

// Your lab 05.
MSDA_DEVICE Place place_of(float x, float y, int height, int width) {
    Place place = {0, 0, 0, 0, 0};
    // <-- 05/place
    return place;
}

// The gradients of one point: of the loss with respect to its location x, y (in 0..1) and its weight.
struct PointGradient {
    float x, y, weight;
};

// From s[c] = the sum over channels of g · v for corner c (0 where the corner does not exist), where g is the gradient of
// the loss with respect to the row's output and v the value at the corner.
MSDA_DEVICE PointGradient point_gradient(const float* s, float lx, float ly, float weight, int height, int width) {
    PointGradient gradient = {0, 0, 0};
    // >>> point_gradient
    LAB_TODO;
    // <<< point_gradient
    return gradient;
}

// Gradients of locations and weights: one thread a point of (batch, queries, heads, points), blocks of 128 threads.
extern "C" __global__ void backward_points(LabShape shape, int points, const float* value, const float* locations,
                                           const float* weights, const float* grad_output, float* grad_locations,
                                           float* grad_weights) {
    // >>> points
    LAB_TODO;
    // <<< points
}
MSDA_ENTRY(backward_points)

// Gradient of the value without any concurrent write: one thread an element of (batch, pixels, heads, channels), blocks
// of 128 threads. Each looks through all points of its image and head that may touch its pixel.
extern "C" __global__ void backward_owned(LabShape shape, int points, const float* locations, const float* weights,
                                          const float* grad_output, float* grad_value) {
    // >>> owned
    LAB_TODO;
    // <<< owned
}
MSDA_ENTRY(backward_owned)

#ifdef MSDA_EMULATE
LAB_EXPORT PointGradient gradient(const float* s, float lx, float ly, float weight, int height, int width) {
    return point_gradient(s, lx, ly, weight, height, width);
}
#endif
