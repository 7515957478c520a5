// Lab 05: the reference solution.
#include "lab.cuh"
#include "lab_shape.hpp"

// Where a sampling point lies on its level. Corner c (0 … 3) is the pixel (row + c / 2, column + c % 2); bit c of `valid`
// says that this pixel exists. A point that takes no part has valid == 0.
struct Place {
    int row, column;
    float lx, ly;
    u32 valid;
};

// The place of location (x, y) on a level of height x width pixels.
MSDA_DEVICE Place place_of(float x, float y, int height, int width) {
    Place place = {0, 0, 0, 0, 0};
    // >>> place
    const float x_im = fused_multiply_add(x, static_cast<float>(width), -0.5f);
    const float y_im = fused_multiply_add(y, static_cast<float>(height), -0.5f);
    if (x_im > -1 && x_im < static_cast<float>(width) && y_im > -1 && y_im < static_cast<float>(height)) {
        place.row = static_cast<int>(floor_of(y_im));
        place.column = static_cast<int>(floor_of(x_im));
        place.ly = y_im - floor_of(y_im);
        place.lx = x_im - floor_of(x_im);
        for (int c = 0; c < 4; c++) {
            const int row = place.row + c / 2, column = place.column + c % 2;
            if (row >= 0 && row < height && column >= 0 && column < width) place.valid |= 1u << c;
        }
    }
    // <<< place
    return place;
}

// The bilinear value of one channel at a place. `map` is that channel of the level's first pixel, `step` the floats from
// one pixel to the next, `width` the level's. A corner that is not valid is not read.
MSDA_DEVICE float sample(const float* map, int step, int width, const Place& place) {
    float sum = 0;
    // >>> sample
    const float weight[4] = {(1 - place.lx) * (1 - place.ly), place.lx * (1 - place.ly), (1 - place.lx) * place.ly,
                             place.lx * place.ly};
    for (int c = 0; c < 4; c++) {
        const int pixel = (place.row + c / 2) * width + place.column + c % 2;
        if (place.valid >> c & 1) sum = fused_multiply_add(weight[c], load(map + pixel * step), sum);
    }
    // <<< sample
    return sum;
}

// The forward: one thread an element of `output`, blocks of 256 threads, as many as cover all elements. `points` is the
// number of points of all levels together.
extern "C" __global__ void forward(LabShape shape, int points, const float* value, const float* locations, const float* weights,
                                   float* output) {
    // >>> forward
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.batch * shape.queries * shape.heads * shape.channels) return;
    const int channel = i % shape.channels, row = i / shape.channels;
    const int head = row % shape.heads, image = row / shape.heads / shape.queries;
    const int step = shape.heads * shape.channels;
    float sum = 0;
    int point = row * points;
    for (int l = 0; l < shape.levels; l++) {
        const float* map = value + (image * shape.pixels + shape.start[l]) * step + head * shape.channels + channel;
        for (int p = 0; p < shape.points[l]; p++, point++) {
            const float x = load(locations + 2 * point), y = load(locations + 2 * point + 1);
            const Place place = place_of(x, y, shape.height[l], shape.width[l]);
            sum = fused_multiply_add(load(weights + point), sample(map, step, shape.width[l], place), sum);
        }
    }
    store(output + i, sum);
    // <<< forward
}
MSDA_ENTRY(forward)

// For the checks of the first two stages.
extern "C" __global__ void one_sample(const float* map, int step, int height, int width, float x, float y, float* out) {
    if (threadIdx.x == 0) store(out, sample(map, step, width, place_of(x, y, height, width)));
}
MSDA_ENTRY(one_sample)
#ifdef MSDA_EMULATE
LAB_EXPORT Place place(float x, float y, int height, int width) { return place_of(x, y, height, width); }
#endif
