// Lab 10: the reference solution.
#pragma once

#include "lab.cuh"

struct Place {
    int row, column;
    float lx, ly;
    u32 valid;
};

// Your lab 05 and lab 06.
MSDA_DEVICE Place place_of(float x, float y, int height, int width) {
    Place place = {0, 0, 0, 0, 0};
    // <-- 05/place
    return place;
}
MSDA_DEVICE void corner_weights(const Place& place, float weight, float* corner) {
    // <-- 06/corner_weights
}

// One thread `T::vector` bytes of one row of the output. T is the struct that your emit() writes:
//   types      value_t, location_t, weight_t
//   constants  batch, queries, heads, channels, points, vector, threads (int), stride_image, stride_pixel, stride_head (i64)
//   functions  height(l), width(l), start(l), and level_of(p): the level of the row's point p
template <class T>
MSDA_DEVICE void forward(const void* value, const void* locations, const void* weights, void* output) {
    // >>> kernel
    using V = typename T::value_t;
    constexpr int each = T::vector / static_cast<int>(sizeof(V)), parts = T::channels / each;
    const i64 i = static_cast<i64>(blockIdx.x) * T::threads + static_cast<int>(threadIdx.x);
    if (i >= static_cast<i64>(T::batch) * T::queries * T::heads * parts) return;
    const int part = static_cast<int>(i % parts);
    const i64 row = i / parts;
    const int head = static_cast<int>(row % T::heads);
    const i64 image = row / T::heads / T::queries;
    float sum[each] = {};
    for (int p = 0; p < T::points; p++) {
        const i64 at = row * T::points + p;
        const auto* xy = static_cast<const typename T::location_t*>(locations) + 2 * at;
        const float x = load_number<typename T::location_t>(xy), y = load_number<typename T::location_t>(xy + 1);
        const float weight = load_number<typename T::weight_t>(static_cast<const typename T::weight_t*>(weights) + at);
        const int l = T::level_of(p), width = T::width(l);
        const Place place = place_of(x, y, T::height(l), width);
        float corner[4];
        corner_weights(place, weight, corner);
        for (int c = 0; c < 4; c++) {
            if (!(place.valid >> c & 1)) continue;
            const i64 pixel = T::start(l) + (place.row + c / 2) * width + place.column + c % 2;
            const i64 offset = image * T::stride_image + pixel * T::stride_pixel + head * T::stride_head + part * each;
            float v[each];
            Number<V>::unpack(load_global<T::vector>(static_cast<const V*>(value) + offset), v);
            for (int k = 0; k < each; k++) sum[k] = fused_multiply_add(corner[c], v[k], sum[k]);
        }
    }
    store_global<T::vector>(static_cast<V*>(output) + row * T::channels + part * each, Number<V>::template pack<T::vector>(sum));
    // <<< kernel
}
