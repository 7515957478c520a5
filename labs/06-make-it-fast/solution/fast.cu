// Lab 06: the reference solution.
#include "lab.cuh"
#include "lab_shape.hpp"

// What these kernels are made for; a JIT compiler would write these lines. Batch, queries and the sizes of the levels
// come in a LabShape.
constexpr int heads = 8, channels = 32, levels = 4, points_a_level = 4, points = levels * points_a_level;

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

// The weights of a place's four corners, each times `weight`; 0 for a corner that does not exist.
MSDA_DEVICE void corner_weights(const Place& place, float weight, float* corner) {
    // >>> corner_weights
    const float top = (1 - place.ly) * weight, bottom = place.ly * weight;
    const float all[4] = {(1 - place.lx) * top, place.lx * top, (1 - place.lx) * bottom, place.lx * bottom};
    for (int c = 0; c < 4; c++) corner[c] = place.valid >> c & 1 ? all[c] : 0;
    // <<< corner_weights
}

// Stage "vector": 8 lanes share a row (one image, query and head) and each computes 4 of its 32 channels with loads of 16
// bytes. Blocks of 256 threads, 32 rows a block, row = (image · queries + query) · heads + head.
extern "C" __global__ void forward_vector(LabShape shape, const float* value, const float* locations, const float* weights,
                                          float* output) {
    // >>> vector
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    if (row >= shape.batch * shape.queries * heads) return;
    const int head = row % heads, image = row / heads / shape.queries;
    Float4 sum = {0, 0, 0, 0};
    for (int p = 0; p < points; p++) {
        const int l = p / points_a_level, at = row * points + p, width = shape.width[l];
        const Place place = place_of(load(locations + 2 * at), load(locations + 2 * at + 1), shape.height[l], width);
        float corner[4];
        corner_weights(place, load(weights + at), corner);
        for (int c = 0; c < 4; c++) {
            if (!(place.valid >> c & 1)) continue;
            const int pixel = image * shape.pixels + shape.start[l] + (place.row + c / 2) * width + place.column + c % 2;
            const Float4 v = load(reinterpret_cast<const Float4*>(value + (pixel * heads + head) * channels) + lane);
            sum.x = fused_multiply_add(corner[c], v.x, sum.x);
            sum.y = fused_multiply_add(corner[c], v.y, sum.y);
            sum.z = fused_multiply_add(corner[c], v.z, sum.z);
            sum.w = fused_multiply_add(corner[c], v.w, sum.w);
        }
    }
    store(reinterpret_cast<Float4*>(output + row * channels) + lane, sum);
    // <<< vector
}
MSDA_ENTRY(forward_vector)

// Stage "share": as before, but each lane reads 2 of the row's 16 points and passes them to the other 7 by shuffles.
extern "C" __global__ void forward_share(LabShape shape, const float* value, const float* locations, const float* weights,
                                         float* output) {
    // >>> share
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    const bool active = row < shape.batch * shape.queries * heads;
    const int head = row % heads, image = row / heads / shape.queries;
    Float4 sum = {0, 0, 0, 0};
    for (int round = 0; round < points / 8; round++) {
        const int own = round * 8 + lane, own_level = own / points_a_level;
        Place place = {0, 0, 0, 0, 0};
        float corner[4] = {0, 0, 0, 0};
        if (active) {
            const Raw<8> xy = load_global<8>(locations + 2 * (row * points + own));
            place = place_of(bits_to_float(xy.word[0]), bits_to_float(xy.word[1]), shape.height[own_level], shape.width[own_level]);
            corner_weights(place, load(weights + row * points + own), corner);
        }
        const int own_pixel = shape.start[own_level] + place.row * shape.width[own_level] + place.column;
        for (int s = 0; s < 8; s++) {
            const int pixel = shuffle(own_pixel, s, 8), width = shape.width[(round * 8 + s) / points_a_level];
            const u32 valid = shuffle(place.valid, s, 8);
            for (int c = 0; c < 4; c++) {
                const float weight = shuffle(corner[c], s, 8);
                if (!(valid >> c & 1)) continue;
                const int at = image * shape.pixels + pixel + c / 2 * width + c % 2;
                const Float4 v = load(reinterpret_cast<const Float4*>(value + (at * heads + head) * channels) + lane);
                sum.x = fused_multiply_add(weight, v.x, sum.x);
                sum.y = fused_multiply_add(weight, v.y, sum.y);
                sum.z = fused_multiply_add(weight, v.z, sum.z);
                sum.w = fused_multiply_add(weight, v.w, sum.w);
            }
        }
    }
    if (active) store(reinterpret_cast<Float4*>(output + row * channels) + lane, sum);
    // <<< share
}
MSDA_ENTRY(forward_share)

// What a group of 4 lanes works on. query −1: nothing, the tile sticks out.
struct Work {
    int image, query, head;
};

// Stage "tile": which row group `group` (0 … 63) of block `block` has. A block takes 32 neighbouring queries of one image
// and 2 neighbouring heads. Blocks are numbered with the head pair fastest, then the tile of queries, then the image.
MSDA_DEVICE Work work_of(int block, int group, int queries) {
    Work work = {0, -1, 0};
    // >>> tile
    const int pairs = heads / 2, tiles = (queries + 31) / 32;
    const int query = block / pairs % tiles * 32 + group / 2;
    work.image = block / pairs / tiles;
    work.head = block % pairs * 2 + group % 2;
    work.query = query < queries ? query : -1;
    // <<< tile
    return work;
}

// Stage "half": values and output are f16; 4 lanes share a row of 64 bytes, 8 channels each. Blocks of 256 threads.
extern "C" __global__ void forward_half(LabShape shape, const f16* value, const float* locations, const float* weights,
                                        f16* output) {
    // >>> half
    const int lane = threadIdx.x % 4;
    const Work work = work_of(blockIdx.x, threadIdx.x / 4, shape.queries);
    const bool active = work.query >= 0;
    const int row = (work.image * shape.queries + work.query) * heads + work.head;
    float sum[8] = {};
    for (int round = 0; round < points / 4; round++) {
        const int own = round * 4 + lane;  // a round is a level, since a level has 4 points
        const int height = shape.height[round], width = shape.width[round];
        Place place = {0, 0, 0, 0, 0};
        float corner[4] = {0, 0, 0, 0};
        if (active) {
            const Raw<8> xy = load_global<8>(locations + 2 * (row * points + own));
            place = place_of(bits_to_float(xy.word[0]), bits_to_float(xy.word[1]), height, width);
            corner_weights(place, load(weights + row * points + own), corner);
        }
        const int own_pixel = work.image * shape.pixels + shape.start[round] + place.row * width + place.column;
        for (int s = 0; s < 4; s++) {
            const int pixel = shuffle(own_pixel, s, 4);
            const u32 valid = shuffle(place.valid, s, 4);
            for (int c = 0; c < 4; c++) {
                const float weight = shuffle(corner[c], s, 4);
                if (!(valid >> c & 1)) continue;
                const int at = pixel + c / 2 * width + c % 2;
                float v[8];
                Number<f16>::unpack(load_global<16>(value + (at * heads + work.head) * channels + lane * 8), v);
                for (int i = 0; i < 8; i++) sum[i] = fused_multiply_add(weight, v[i], sum[i]);
            }
        }
    }
    if (active) store_global<16>(output + row * channels + lane * 8, Number<f16>::pack<16>(sum));
    // <<< half
}
MSDA_ENTRY(forward_half)

#ifdef MSDA_EMULATE
LAB_EXPORT void corners(Place place, float weight, float* corner) { corner_weights(place, weight, corner); }
LAB_EXPORT Work work(int block, int group, int queries) { return work_of(block, group, queries); }
#endif
