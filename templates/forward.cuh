// The forward: out[b,q,m,:] = Σ weight · bilinear(value at location). A group of lanes owns one (image, query, head) row; each lane prepares
// some of the row's points and passes them to the others, then all lanes of the group read the four corner rows side by side.
#pragma once

#include "stage.cuh"

namespace msda {

template <class T, class Shape>
struct Forward {
    using A = typename T::acc_t;
    static constexpr int corners = T::sampling == bilinear ? 4 : 1;
    static constexpr int per_load = T::vector / static_cast<int>(sizeof(typename T::value_t));  // channels a load
    static constexpr int steps = (T::points + T::split - 1) / T::split;                           // points a part
    static constexpr int rounds = (steps + T::lanes - 1) / T::lanes;                              // points a lane prepares
    static constexpr int batch = rounds < T::unroll ? rounds : T::unroll;                         // of which staged together
    static constexpr int batches = (rounds + batch - 1) / batch;
    static constexpr bool unrolled = steps <= 64;  // levels are constants then; above, code size wins
    using Point = InsidePoint<A, corners>;
    using Stage = typename StageOf<A, corners, T::lanes, batch, T::staging>::type;

    const Shape& shape;
    const int slice;  // which part of D, where one block does not cover it
    const Row<T> row;
    ValueView<T, Shape> value;
    A sum[T::chunks][per_load];

    MSDA_DEVICE Forward(const Shape& s, const void* v)
        : shape(s), slice(static_cast<int>(block_index() % T::slices)), row(s, block_index() / T::slices), value{nullptr, s} {
        const i64 first = static_cast<i64>(row.image) * s.stride_image() + row.head * s.stride_head() + channel(0);
        value.base = kept(static_cast<const char*>(v) + first * ValueView<T, Shape>::element);
#pragma unroll
        for (int k = 0; k < T::chunks; k++)
#pragma unroll
            for (int i = 0; i < per_load; i++) sum[k][i] = 0;
    }

    MSDA_DEVICE int channel(int chunk) const { return ((slice * T::chunks + chunk) * T::lanes + row.lane) * per_load; }
    MSDA_DEVICE bool has(int chunk) const {
        if constexpr (T::slices * T::chunks * T::lanes * per_load == T::head_dim) return true;
        else return channel(chunk) < T::head_dim;
    }

    // Adds one point.
    MSDA_DEVICE void add(const Stage& stage, int r, int s, int l) {
        const Point point = stage.get(r, s);
        A w[corners];
        point.weights(w);
        const char* p = value.at(point.pixel);
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
            Raw<T::vector> raw[corners];
#pragma unroll
            for (int c = 0; c < corners; c++) {
                if (has(k)) raw[c] = load_global<T::vector>(p + value.inside_corner(c, l) + k * T::lanes * T::vector);
                else raw[c] = Raw<T::vector>{};
            }
#pragma unroll
            for (int c = 0; c < corners; c++) {
                A f[per_load];
                Number<typename T::value_t>::unpack(raw[c], f);
#pragma unroll
                for (int i = 0; i < per_load; i++) sum[k][i] = fused_multiply_add(w[c], f[i], sum[k][i]);
            }
        }
    }

    // First point (of part 0) of lane s's point in round r.
    static MSDA_DEVICE int point_of(int r, int s) { return (r * T::lanes + s) * T::split; }
    // This lane's first point.
    MSDA_DEVICE int first_point() const { return point_of(0, row.lane) + row.part; }
    // Level of lane s's point in round r, for any s in [from, to].
    MSDA_DEVICE int level_at(int r, int from, int to, int s) const {
        return level_within<T>(point_of(r, from), point_of(r, to) + T::split - 1, point_of(r, s) + row.part);
    }

    template <class Points>
    MSDA_DEVICE void run_batch(Stage& stage, int first_round, const Points& points) {
#pragma unroll
        for (int r = 0; r < batch; r++) {
            const int p = point_of(first_round + r, row.lane) + row.part;
            // A row that is not there reads what query 0 of head 0 has, and stores nothing.
            const bool there = point_of(first_round + r, T::lanes) <= T::points || p < T::points;
            const int l = level_at(first_round + r, 0, T::lanes - 1, row.lane);
            Point point;
            move_inside<T>(shape, points.own(shape, row.index(shape), first_round + r, p, l, there), l, point);
            stage.put(r, row.lane, point);
        }
        stage.publish();
#pragma unroll
        for (int r = 0; r < batch; r++)
#pragma unroll
            for (int s = 0; s < T::lanes; s++)
                if (point_of(first_round + r, s) < T::points) add(stage, r, s, level_at(first_round + r, s, s, s));
        if constexpr (batches > 1 && T::staging == 1) warp_barrier();
    }

    template <class Points>
    MSDA_DEVICE void run(const Points& points) {
        Stage stage(shared_memory());
        if constexpr (unrolled) {
#pragma unroll
            for (int b = 0; b < batches; b++) run_batch(stage, b * batch, points);
        } else {
#pragma unroll 1
            for (int b = 0; b < batches; b++) run_batch(stage, b * batch, points);
        }
    }

    // Sums again what an Inf or NaN has reached.
    template <class Points>
    MSDA_DEVICE void repeat_if_needed(const Points& points) {
        bool finite = true;
#pragma unroll
        for (int k = 0; k < T::chunks; k++) finite = finite && all_finite<per_load>(sum[k]);
        if (!warp_any(!finite)) return;
        const Points careful = points.again(row.index(shape), first_point());
#pragma unroll
        for (int k = 0; k < T::chunks; k++)
            if (has(k)) sum_carefully<T>(shape, value.base + k * T::lanes * T::vector, row.index(shape), row.part, careful, sum[k]);
    }

    MSDA_DEVICE void store(const float* scales, void* output) {
#pragma unroll
        for (int k = 0; k < T::chunks; k++) {
#pragma unroll
            for (int i = 0; i < per_load; i++)
#pragma unroll
                for (int step = 1; step < T::split; step *= 2) sum[k][i] += shuffle_xor(sum[k][i], step * T::lanes * T::block_heads);
            if (!row.active || row.part != 0 || !has(k)) continue;
            if constexpr (T::scaled) {
                const A scale = load_number<f32>(scales + row.head);
#pragma unroll
                for (int i = 0; i < per_load; i++) sum[k][i] *= scale;
            }
            using Out = typename T::output_t;
            constexpr int out_bytes = per_load * static_cast<int>(sizeof(Out)), step = out_bytes < 16 ? out_bytes : 16;
            char* to = static_cast<char*>(output) + (row.index(shape) * T::head_dim + channel(k)) * static_cast<i64>(sizeof(Out));
#pragma unroll
            for (int j = 0; j < out_bytes / step; j++)
                store_global<step>(to + j * step, Number<Out>::template pack<step>(sum[k] + j * step / static_cast<int>(sizeof(Out))));
        }
    }

    // `points`: GivenPoints (sample.cuh) or FusedPoints (fused.cuh).
    template <class Points>
    MSDA_DEVICE void compute(const Points& points, const float* scales, void* output) {
        run(points);
        repeat_if_needed(points);
        store(scales, output);
    }
};

template <class T, class Shape>
MSDA_DEVICE void forward(const Shape& shape, const void* value, const void* locations, const void* weights, const float* scales, void* output) {
    Forward<T, Shape>(shape, value).compute(GivenPoints<T>{locations, weights}, scales, output);
}

}  // namespace msda
