// What stands around the ordinary backward where softmax or references are fused: before it the points as the ordinary kernels read them (weights and
// locations in the workspace), after it the chain rule from their gradients to those of logits, offsets and references. One warp a query does
// both, its heads and points in a fixed order: no atomics, bit-equal from run to run.
#pragma once

#include "fused.cuh"

namespace msda {

constexpr int fused_threads = 256;

// The types the caller gave; Traits' own are those of the kernels in between.
template <class T>
struct AsGiven : T {
    using location_t = typename T::offset_t;
    using weight_t = typename T::logit_t;
};

// A warp's query, and the points of each of its heads dealt out to `width` lanes.
template <class T, class Shape>
struct FusedQuery {
    using A = typename T::acc_t;
    using Given = AsGiven<T>;
    static constexpr int width = T::points > 16 ? 32 : T::points > 8 ? 16 : T::points > 4 ? 8 : T::points > 2 ? 4 : T::points;
    static constexpr int rows = 32 / width;  // heads side by side
    using Lanes = RowLanes<width>;
    using Points = FusedPoints<Given, Lanes>;

    const Shape& shape;
    const i64 query;  // counted over (image, query)
    const int lane;

    MSDA_DEVICE explicit FusedQuery(const Shape& s)
        : shape(s), query(static_cast<i64>(block_index()) * (fused_threads / 32) + thread_index() / 32), lane(thread_index() % 32) {}
    MSDA_DEVICE bool there() const { return query < static_cast<i64>(shape.batch()) * shape.queries(); }
    MSDA_DEVICE i64 row(int head) const { return query * T::heads + head; }
    static MSDA_DEVICE A load(const void* from, i64 at) { return load_number<A>(static_cast<const A*>(from) + at); }

    // Calls visit(row, whether it is there) for each of the query's heads; all lanes of the warp take part in each call.
    template <class Visit>
    MSDA_DEVICE void for_rows(Visit visit) const {
#pragma unroll 1
        for (int first = 0; first < T::heads; first += rows) {
            const int head = first + lane / width;
            visit(row(head < T::heads ? head : 0), head < T::heads);
        }
    }

    MSDA_DEVICE void write_points(Points points, void* locations, void* weights) const {
        for_rows([&](i64 r, bool active) {
            points.start(r, lane % width);
            for (int p = lane % width; active && p < T::points; p += width) {
                const ReadPoint<A> point = points.any(shape, r, p, T::level_of(p));
                const i64 at = r * T::points + p;
                if constexpr (T::softmax) store_number<A>(static_cast<A*>(weights) + at, point.weight);
                if constexpr (T::reference != no_reference) store_pair<A, 16>(static_cast<A*>(locations) + 2 * at, point.x, point.y);
            }
        });
    }

    // d/d logit = a · (d/d a − Σ a · d/d a).
    MSDA_DEVICE void write_logits(const void* weights, const void* grad_weights, void* grad_logits) const {
        using Logit = typename T::logit_t;
        for_rows([&](i64 r, bool active) {
            A dot = 0;
            for (int p = lane % width; p < T::points; p += width) dot += load(weights, r * T::points + p) * load(grad_weights, r * T::points + p);
            dot = Lanes::sum(dot);
            for (int p = lane % width; active && p < T::points; p += width) {
                const i64 at = r * T::points + p;
                store_number<Logit>(static_cast<char*>(grad_logits) + at * static_cast<i64>(sizeof(Logit)), load(weights, at) * (load(grad_weights, at) - dot));
            }
        });
    }

    // One point: writes d/d offset and adds to its reference's sums. A point that takes no part has the gradient 0, whatever its factors are.
    MSDA_DEVICE void chain(i64 r, int p, int l, const A* reference, const void* offsets, const void* grad_locations, void* grad_offsets, A* sum) const {
        using Offset = typename T::offset_t;
        const i64 at = 2 * (r * T::points + p);
        A d[2] = {load(grad_locations, at), load(grad_locations, at + 1)};
        const char* offset = static_cast<const char*>(offsets) + at * static_cast<i64>(sizeof(Offset));
#pragma unroll
        for (int axis = 0; axis < 2; axis++) {
            sum[axis] += d[axis];
            if constexpr (T::reference == reference_boxes) {
                const A share = A(0.5) / static_cast<A>(T::points_of(l));
                const A given = static_cast<A>(load_number<Offset>(offset + axis * static_cast<int>(sizeof(Offset))));
                sum[axis + 2] += d[axis] == A(0) ? A(0) : d[axis] * given * share;
                d[axis] = d[axis] == A(0) ? A(0) : d[axis] * (reference[axis + 2] * share);
            } else {
                d[axis] = Points::over_extent(shape, l, d[axis], axis);
            }
        }
        store_pair<Offset, T::alignment>(static_cast<char*>(grad_offsets) + at * static_cast<i64>(sizeof(Offset)), d[0], d[1]);
    }

    // Reference i serves points [from, to) of every head, or, as a pillar, some of them; each point has one reference.
    MSDA_DEVICE void write_reference(int i, const Points& points, const void* grad_locations, void* grad_offsets, void* grad_references) const {
        constexpr bool own_level = T::reference != reference_pillars && T::reference_levels > 1;
        const int from = own_level ? T::first_point(i) : 0, count = own_level ? T::points_of(i) : T::points;
        A reference[Points::components], sum[4] = {0, 0, 0, 0};
        points.load_reference(i, reference);
        int head = lane / count, p = lane % count;
        while (head < T::heads) {
            const int l = own_level ? i : T::level_of(from + p);
            if (T::reference != reference_pillars || Points::reference_of(p, l) == i)
                chain(row(head), from + p, l, reference, points.offsets, grad_locations, grad_offsets, sum);
            head += 32 / count;
            p += 32 % count;
            if (p >= count) p -= count, head++;
        }
        if (grad_references == nullptr) return;
        using Offset = typename T::offset_t;
#pragma unroll
        for (int k = 0; k < Points::components; k++) {
            const A total = RowLanes<32>::sum(sum[k]);
            const i64 at = (query * Points::references_a_query + i) * Points::components + k;
            if (lane == 0) store_number<Offset>(static_cast<char*>(grad_references) + at * static_cast<i64>(sizeof(Offset)), total);
        }
    }
};

template <class T, class Shape>
MSDA_DEVICE void write_fused_points(const Shape& shape, const void* offsets, const void* logits, const void* references, void* locations, void* weights) {
    const FusedQuery<T, Shape> query(shape);
    if (query.there()) query.write_points({offsets, logits, references, query.query}, locations, weights);
}

// `grad_references` may be null: the references do not train.
template <class T, class Shape>
MSDA_DEVICE void write_fused_gradients(const Shape& shape, const void* offsets, const void* references, const void* weights, const void* grad_locations,
                                       const void* grad_weights, void* grad_offsets, void* grad_logits, void* grad_references) {
    const FusedQuery<T, Shape> query(shape);
    if (!query.there()) return;
    if constexpr (T::softmax && T::grad_weight) query.write_logits(weights, grad_weights, grad_logits);
    if constexpr (T::reference != no_reference && T::grad_location) {
        using Points = typename FusedQuery<T, Shape>::Points;
        const Points points(offsets, nullptr, references, query.query);
#pragma unroll 1
        for (int i = 0; i < Points::references_a_query; i++) query.write_reference(i, points, grad_locations, grad_offsets, grad_references);
    }
}

}  // namespace msda
