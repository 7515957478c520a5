// Lab 01: the reference solution.
#include "lab.cuh"
#include "lab_shape.hpp"

// The image coordinate of a location: x · size − 0.5 with a single rounding, which fused_multiply_add(a, b, c) = a · b
// + c has and a multiplication followed by a subtraction has not.
LAB_EXPORT float image_coordinate(float x, int size) {
    // >>> image_coordinate
    return fused_multiply_add(x, static_cast<float>(size), -0.5f);
    // <<< image_coordinate
}

// The value of one channel of a map at (x, y) in 0..1, bilinearly. The channel of pixel (row, column) is
// map[(row * width + column) * stride].
LAB_EXPORT float bilinear(const float* map, int height, int width, int stride, float x, float y) {
    // >>> bilinear
    const float x_im = image_coordinate(x, width), y_im = image_coordinate(y, height);
    const bool near = x_im > -1 && x_im < static_cast<float>(width) && y_im > -1 && y_im < static_cast<float>(height);
    if (!near) return 0;
    const int column = static_cast<int>(floor_of(x_im)), row = static_cast<int>(floor_of(y_im));
    const float lx = x_im - floor_of(x_im), ly = y_im - floor_of(y_im);
    float sum = 0;
    for (int down = 0; down < 2; down++)
        for (int right = 0; right < 2; right++) {
            const int r = row + down, c = column + right;
            if (r < 0 || r >= height || c < 0 || c >= width) continue;
            const float weight = (right ? lx : 1 - lx) * (down ? ly : 1 - ly);
            sum += weight * map[(r * width + c) * stride];
        }
    return sum;
    // <<< bilinear
}

// The whole operator: output[b,q,m,c] = sum over levels l and their points p of
// weights[b,q,m,l,p] · bilinear(channel c of head m of level l of image b, at locations[b,q,m,l,p]).
LAB_EXPORT void forward(LabShape shape, const float* value, const float* locations, const float* weights,
                        float* output) {
    // >>> forward
    int all_points = 0;
    for (int l = 0; l < shape.levels; l++) all_points += shape.points[l];
    const int row_length = shape.heads * shape.channels;  // floats of one pixel
    for (int b = 0; b < shape.batch; b++)
        for (int q = 0; q < shape.queries; q++)
            for (int m = 0; m < shape.heads; m++)
                for (int c = 0; c < shape.channels; c++) {
                    const int row = (b * shape.queries + q) * shape.heads + m;
                    float sum = 0;
                    int point = row * all_points;
                    for (int l = 0; l < shape.levels; l++) {
                        const int first_pixel = b * shape.pixels + shape.start[l];
                        const float* map = value + first_pixel * row_length + m * shape.channels + c;
                        for (int p = 0; p < shape.points[l]; p++, point++)
                            sum += weights[point] * bilinear(map, shape.height[l], shape.width[l], row_length,
                                                             locations[2 * point], locations[2 * point + 1]);
                    }
                    output[row * shape.channels + c] = sum;
                }
    // <<< forward
}
