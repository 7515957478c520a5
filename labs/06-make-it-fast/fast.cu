// Lab 06: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
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
    LAB_TODO;
    // <<< corner_weights
}

// Stage "vector": 8 lanes share a row (one image, query and head) and each computes 4 of its 32 channels with loads of 16
// bytes. Blocks of 256 threads, 32 rows a block, row = (image · queries + query) · heads + head.
extern "C" __global__ void forward_vector(LabShape shape, const float* value, const float* locations, const float* weights,
                                          float* output) {
    // >>> vector
    LAB_TODO;
    // <<< vector
}
MSDA_ENTRY(forward_vector)

// Stage "share": as before, but each lane reads 2 of the row's 16 points and passes them to the other 7 by shuffles.
extern "C" __global__ void forward_share(LabShape shape, const float* value, const float* locations, const float* weights,
                                         float* output) {
    // >>> share
    LAB_TODO;
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
    LAB_TODO;
    // <<< tile
    return work;
}

// Stage "half": values and output are f16; 4 lanes share a row of 64 bytes, 8 channels each. Blocks of 256 threads.
extern "C" __global__ void forward_half(LabShape shape, const f16* value, const float* locations, const float* weights,
                                        f16* output) {
    // >>> half
    LAB_TODO;
    // <<< half
}
MSDA_ENTRY(forward_half)

#ifdef MSDA_EMULATE
LAB_EXPORT void corners(Place place, float weight, float* corner) { corner_weights(place, weight, corner); }
LAB_EXPORT Work work(int block, int group, int queries) { return work_of(block, group, queries); }
#endif
