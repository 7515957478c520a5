// The forward with softmax, references or both inside.
#pragma once

#include "forward.cuh"
#include "fused.cuh"

namespace msda {

template <class T, class Shape>
MSDA_DEVICE void forward_fused(const Shape& shape, const void* value, const void* locations, const void* weights, const void* references, const float* scales,
                               void* output) {
    Forward<T, Shape> f(shape, value);
    using Lanes = RowLanes<T::lanes, T::split, T::lanes * T::block_heads>;
    FusedPoints<T, Lanes> points(locations, weights, references, static_cast<i64>(f.row.image) * shape.queries() + f.row.query);
    points.start(f.row.index(shape), f.first_point());
    f.compute(points, scales, output);
}

}  // namespace msda
