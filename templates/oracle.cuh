// The operator in double precision, as plainly as it can be written: one thread an output element, nothing shared, nothing clever. What every fast
// kernel is verified against on the GPU; itself verified against the CPU's reference. Shares with the fast kernels only x_im and the border rule.
#pragma once

#include "sample.cuh"

namespace msda {

constexpr int oracle_threads = 256;

template <class T, class Shape>
struct Oracle {
    using A = typename T::acc_t;
    const Shape& shape;
    const void *value, *locations, *weights;

    MSDA_DEVICE static i64 element() { return static_cast<i64>(block_index()) * oracle_threads + thread_index(); }

    MSDA_DEVICE double value_at(i64 image, int pixel, int head, int channel) const {
        const i64 at = image * shape.stride_image() + pixel * shape.stride_pixel() + head * shape.stride_head() + channel;
        return static_cast<double>(load_number<typename T::value_t>(static_cast<const char*>(value) + at * static_cast<i64>(sizeof(typename T::value_t))));
    }

    // Calls visit(pixel, weight of the corner without the point's own, corner) for each corner inside the map.
    template <class Visit>
    MSDA_DEVICE void corners(const Footprint<A>& f, int l, Visit visit) const {
        for (int c = 0; c < 4; c++) {
            if (!(f.valid >> c & 1)) continue;
            const double lx = f.lx, ly = f.ly;
            const double w = T::sampling != bilinear ? 1.0 : (c & 1 ? lx : 1 - lx) * (c & 2 ? ly : 1 - ly);
            visit(shape.start(l) + (f.y0 + (c >> 1)) * shape.width(l) + f.x0 + (c & 1), w, c);
        }
    }
};

// result (B, Q, M, D) in double.
template <class T, class Shape>
MSDA_DEVICE void oracle_forward(const Shape& shape, const void* value, const void* locations, const void* weights, const float* scales, void* result) {
    using A = typename T::acc_t;
    const Oracle<T, Shape> o = {shape, value, locations, weights};
    const i64 i = o.element();
    if (i >= static_cast<i64>(shape.batch()) * shape.queries() * T::heads * T::head_dim) return;
    const int channel = static_cast<int>(i % T::head_dim);
    const i64 row = i / T::head_dim;
    const int head = static_cast<int>(row % T::heads);
    const i64 image = row / T::heads / shape.queries();
    double sum = 0;
    for (int p = 0; p < T::points; p++) {
        const int l = T::level_of(p);
        const ReadPoint<A> point = read_point<T, A>(locations, weights, row, p, true);
        double of_point = 0;
        const Footprint<A> f = footprint_of<T>(shape, point, l);
        o.corners(f, l, [&](int pixel, double w, int) { of_point += w * o.value_at(image, pixel, head, channel); });
        if (f.valid) sum += static_cast<double>(point.weight) * of_point;
    }
    if constexpr (T::scaled) sum *= static_cast<double>(load_number<f32>(scales + head));
    static_cast<double*>(result)[i] = sum;
}

// grad_value (B, S, M, D), zero before.
template <class T, class Shape>
MSDA_DEVICE void oracle_grad_value(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output, void* grad_value) {
    using A = typename T::acc_t;
    const Oracle<T, Shape> o = {shape, value, locations, weights};
    const i64 i = o.element();
    if (i >= static_cast<i64>(shape.batch()) * shape.queries() * T::heads * T::head_dim) return;
    const int channel = static_cast<int>(i % T::head_dim);
    const i64 row = i / T::head_dim;
    const int head = static_cast<int>(row % T::heads);
    const i64 image = row / T::heads / shape.queries();
    const double g = static_cast<double>(load_number<typename T::value_t>(static_cast<const char*>(grad_output) + i * static_cast<i64>(sizeof(typename T::value_t))));
    for (int p = 0; p < T::points; p++) {
        const int l = T::level_of(p);
        const ReadPoint<A> point = read_point<T, A>(locations, weights, row, p, true);
        o.corners(footprint_of<T>(shape, point, l), l, [&](int pixel, double w, int) {
            red_f64(static_cast<double*>(grad_value) + ((image * shape.pixels() + pixel) * T::heads + head) * T::head_dim + channel, static_cast<double>(point.weight) * w * g);
        });
    }
}

// grad_locations (B, Q, M, ΣP, 2) and grad_weights (B, Q, M, ΣP), one thread a point.
template <class T, class Shape>
MSDA_DEVICE void oracle_grad_points(const Shape& shape, const void* value, const void* locations, const void* weights, const void* grad_output,
                                    void* grad_locations, void* grad_weights) {
    using A = typename T::acc_t;
    const Oracle<T, Shape> o = {shape, value, locations, weights};
    const i64 i = o.element();
    if (i >= static_cast<i64>(shape.batch()) * shape.queries() * T::heads * T::points) return;
    const int p = static_cast<int>(i % T::points), l = T::level_of(p);
    const i64 row = i / T::points;
    const int head = static_cast<int>(row % T::heads);
    const i64 image = row / T::heads / shape.queries();
    const ReadPoint<A> point = read_point<T, A>(locations, weights, row, p, true);
    const Footprint<A> f = footprint_of<T>(shape, point, l);
    double s[4] = {0, 0, 0, 0}, weight = 0, x = 0, y = 0;
    o.corners(f, l, [&](int pixel, double w, int c) {
        for (int d = 0; d < T::head_dim; d++) {
            const i64 at = (row * T::head_dim + d) * static_cast<i64>(sizeof(typename T::value_t));
            s[c] += o.value_at(image, pixel, head, d) * static_cast<double>(load_number<typename T::value_t>(static_cast<const char*>(grad_output) + at));
        }
        weight += w * s[c];
    });
    if (f.valid && T::sampling == bilinear) {
        const double lx = f.lx, ly = f.ly, a = static_cast<double>(point.weight);
        x = a * shape.width(l) * ((s[1] - s[0]) * (1 - ly) + (s[3] - s[2]) * ly);
        y = a * shape.height(l) * ((s[2] - s[0]) * (1 - lx) + (s[3] - s[1]) * lx);
    }
    static_cast<double*>(grad_weights)[i] = weight;
    static_cast<double*>(grad_locations)[2 * i] = x;
    static_cast<double*>(grad_locations)[2 * i + 1] = y;
}

}  // namespace msda
