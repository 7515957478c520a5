// Addresses inside value.
#pragma once

#include "shape.cuh"

namespace msda {

// Byte distances inside value for one image and head.
template <class T, class Shape>
struct ValueView {
    static constexpr int element = static_cast<int>(sizeof(typename T::value_t));
    const char* base;  // this lane's first channel of pixel 0
    const Shape& shape;

    // The lane's part of pixel `pixel`: one 32 × 32 + 64 bit instruction wherever a pixel's stride is below 2 GB.
    MSDA_DEVICE const char* at(int pixel) const {
        if constexpr (T::wide) return base + pixel * (shape.stride_pixel() * element);
        else return base + static_cast<i64>(pixel) * static_cast<int>(shape.stride_pixel() * element);
    }
    // Bytes from corner 0 to corner c of a point that lies inside level l (inside.cuh): a level one pixel wide or high has no further corner there.
    MSDA_DEVICE i64 inside_corner(int c, int l) const {
        const i64 right = shape.width(l) > 1 ? 1 : 0, below = shape.height(l) > 1 ? shape.width(l) : 0;
        return ((c & 1) * right + (c >> 1) * below) * shape.stride_pixel() * element;
    }
    // Bytes from corner 0 to corner c of a point on level l.
    MSDA_DEVICE i64 corner(int c, int l) const {
        return ((c & 1) + (c >> 1) * static_cast<i64>(shape.width(l))) * shape.stride_pixel() * element;
    }
};

}  // namespace msda
