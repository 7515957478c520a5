// Lab 07: the reference solution.
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
    gradient.weight = (1 - lx) * (1 - ly) * s[0] + lx * (1 - ly) * s[1] + (1 - lx) * ly * s[2] + lx * ly * s[3];
    gradient.x = weight * static_cast<float>(width) * ((1 - ly) * (s[1] - s[0]) + ly * (s[3] - s[2]));
    gradient.y = weight * static_cast<float>(height) * ((1 - lx) * (s[2] - s[0]) + lx * (s[3] - s[1]));
    // <<< point_gradient
    return gradient;
}

// Gradients of locations and weights: one thread a point of (batch, queries, heads, points), blocks of 128 threads.
extern "C" __global__ void backward_points(LabShape shape, int points, const float* value, const float* locations,
                                           const float* weights, const float* grad_output, float* grad_locations,
                                           float* grad_weights) {
    // >>> points
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= shape.batch * shape.queries * shape.heads * points) return;
    const int row = at / points, head = row % shape.heads, image = row / shape.heads / shape.queries;
    int l = 0;
    for (int first = 0; at % points >= first + shape.points[l]; l++) first += shape.points[l];
    const int width = shape.width[l];
    const Place place = place_of(load(locations + 2 * at), load(locations + 2 * at + 1), shape.height[l], width);
    const float* g = grad_output + row * shape.channels;
    float s[4] = {0, 0, 0, 0};
    for (int c = 0; c < 4; c++) {
        if (!(place.valid >> c & 1)) continue;
        const int pixel = image * shape.pixels + shape.start[l] + (place.row + c / 2) * width + place.column + c % 2;
        const float* v = value + (pixel * shape.heads + head) * shape.channels;
        for (int d = 0; d < shape.channels; d++) s[c] = fused_multiply_add(load(g + d), load(v + d), s[c]);
    }
    const PointGradient gradient =
        point_gradient(s, place.lx, place.ly, load(weights + at), shape.height[l], width);
    store(grad_locations + 2 * at, gradient.x);
    store(grad_locations + 2 * at + 1, gradient.y);
    store(grad_weights + at, gradient.weight);
    // <<< points
}
MSDA_ENTRY(backward_points)

// Gradient of the value without any concurrent write: one thread an element of (batch, pixels, heads, channels), blocks
// of 128 threads. Each looks through all points of its image and head that may touch its pixel.
extern "C" __global__ void backward_owned(LabShape shape, int points, const float* locations, const float* weights,
                                          const float* grad_output, float* grad_value) {
    // >>> owned
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.batch * shape.pixels * shape.heads * shape.channels) return;
    const int d = i % shape.channels, head = i / shape.channels % shape.heads;
    const int pixel = i / shape.channels / shape.heads % shape.pixels, image = i / shape.channels / shape.heads / shape.pixels;
    float sum = 0;
    int first_point = 0;
    for (int l = 0; l < shape.levels; first_point += shape.points[l], l++) {
        const int inside = pixel - shape.start[l], height = shape.height[l], width = shape.width[l];
        if (inside < 0 || inside >= height * width) continue;
        const int row = inside / width, column = inside % width;
        for (int q = 0; q < shape.queries; q++) {
            const int output_row = (image * shape.queries + q) * shape.heads + head;
            float corner_sum = 0;
            bool touched = false;
            for (int p = 0; p < shape.points[l]; p++) {
                const int at = output_row * points + first_point + p;
                const Place place = place_of(load(locations + 2 * at), load(locations + 2 * at + 1), height, width);
                const int down = row - place.row, right = column - place.column;
                if (place.valid == 0 || down < 0 || down > 1 || right < 0 || right > 1) continue;
                touched = true;
                corner_sum += load(weights + at) * (right ? place.lx : 1 - place.lx) * (down ? place.ly : 1 - place.ly);
            }
            if (touched) sum = fused_multiply_add(corner_sum, load(grad_output + output_row * shape.channels + d), sum);
        }
    }
    store(grad_value + i, sum);
    // <<< owned
}
MSDA_ENTRY(backward_owned)

#ifdef MSDA_EMULATE
LAB_EXPORT PointGradient gradient(const float* s, float lx, float ly, float weight, int height, int width) {
    return point_gradient(s, lx, ly, weight, height, width);
}
#endif
