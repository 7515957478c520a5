// What follows the scatter where sums were kept in a scratch: one rounding to the value's type.
#pragma once

#include "shape.cuh"

namespace msda {

// grad_value[i] = scratch[i], eight elements a thread.
template <class T, class Shape>
MSDA_DEVICE void round_scratch(const Shape& shape, const void* scratch, void* grad_value) {
    using V = typename T::value_t;
    const i64 all = static_cast<i64>(shape.batch()) * shape.pixels() * T::heads * T::head_dim;
    const i64 first = (static_cast<i64>(block_index()) * 256 + thread_index()) * 8;
    const float* from = static_cast<const float*>(scratch) + first;
    char* to = static_cast<char*>(grad_value) + first * static_cast<i64>(sizeof(V));
    if (T::alignment == 16 && first + 8 <= all) {
        float v[8];
        Number<f32>::unpack(load_written<16>(from), v);
        Number<f32>::unpack(load_written<16>(from + 4), v + 4);
        store_global<16>(to, Number<V>::template pack<16>(v));
    } else {
        for (i64 i = 0; i < 8 && first + i < all; i++) {
            float v;
            Number<f32>::unpack(load_written<4>(from + i), &v);
            store_number<V>(to + i * static_cast<i64>(sizeof(V)), v);
        }
    }
}

// grad_value of one element: the partial sums of every level that covers the pixel and of every query chunk, added in that order.
template <class T, class Shape>
MSDA_DEVICE void add_chunks(const Shape& shape, const void* partial, void* grad_value) {
    using V = typename T::value_t;
    using A = typename T::acc_t;
    const i64 all = static_cast<i64>(shape.batch()) * shape.pixels() * T::heads * T::head_dim;
    const i64 i = static_cast<i64>(block_index()) * 256 + thread_index();
    if (i >= all) return;
    const int channel = static_cast<int>(i % T::head_dim), head = static_cast<int>(i / T::head_dim % T::heads);
    const i64 pixel_of_batch = i / (T::head_dim * T::heads);
    const int pixel = static_cast<int>(pixel_of_batch % shape.pixels());
    const i64 image_head = pixel_of_batch / shape.pixels() * T::heads + head;
    A sum = 0;
    for (int l = 0; l < T::levels; l++) {
        const int size = shape.height(l) * shape.width(l), at = pixel - shape.start(l);
        if (at < 0 || at >= size) continue;
        for (int chunk = 0; chunk < shape.owned_chunks(l); chunk++) {
            const i64 from = image_head * shape.owned_plane(T::levels) + shape.owned_plane(l) + static_cast<i64>(chunk) * size + at;
            A v;
            Number<A>::unpack(load_written<sizeof(A)>(static_cast<const A*>(partial) + from * T::head_dim + channel), &v);
            sum += v;
        }
    }
    store_number<V>(static_cast<char*>(grad_value) + i * static_cast<i64>(sizeof(V)), sum);
}

}  // namespace msda
