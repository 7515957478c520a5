// How a point that one lane prepared reaches the other lanes of its group: by warp shuffles, or through the warp's own part of shared memory.
// A batch holds `Rounds` prepared points a lane; lane s's point of round r is point (r·lanes + s)·split + part of the row.
#pragma once

#include "inside.cuh"

namespace msda {

// Keeps the points in registers; costs one shuffle a word and no shared memory, which stays with L1.
template <class A, int Corners, int Lanes, int Rounds>
struct ShuffleStage {
    using Point = InsidePoint<A, Corners>;
    Point point[Rounds];

    MSDA_DEVICE explicit ShuffleStage(char*) {}
    MSDA_DEVICE void put(int round, int, const Point& p) { point[round] = p; }
    MSDA_DEVICE void publish() const {}
    MSDA_DEVICE Point get(int round, int s) const {
        if constexpr (Lanes == 1) return point[round];
        Point p;
        p.pixel = shuffle(point[round].pixel, s, Lanes);
#pragma unroll
        for (int i = 0; i < Point::numbers; i++) p.number[i] = shuffle(point[round].number[i], s, Lanes);
        return p;
    }
};

// Keeps them in shared memory, [round][lane slot][group], a few records apart so that neither the groups that read side by side nor the lanes
// that write side by side meet in a bank: one wavefront of L1 a point where shuffles take four.
template <class A, int Corners, int Lanes, int Rounds>
struct SharedStage {
    using Point = InsidePoint<A, Corners>;
    static constexpr int pitch = 32 / Lanes + (Lanes == 1 || Lanes == 32 ? 0 : Lanes < 8 ? 8 / Lanes : 1);  // records from one lane slot to the next
    static constexpr int slots = Rounds * Lanes * pitch;
    static constexpr int warp_bytes = slots * (Point::numbers * static_cast<int>(sizeof(A)) + static_cast<int>(sizeof(int)));
    static constexpr bool one_record = Point::numbers * sizeof(A) == 12;

    char* mine;
    MSDA_DEVICE explicit SharedStage(char* shared) : mine(shared + thread_index() / 32 * warp_bytes) {}

    MSDA_DEVICE void put(int round, int lane, const Point& p) const {
        const int at = slot(round, lane);
        if constexpr (one_record) {
            store_shared(record(at), Raw<16>{{static_cast<u32>(p.pixel), float_to_bits(p.number[0]), float_to_bits(p.number[1]), float_to_bits(p.number[2])}});
        } else {
#pragma unroll
            for (int i = 0; i < Point::numbers; i++) store_shared(number(i) + at, p.number[i]);
            store_shared(pixels() + at, p.pixel);
        }
    }
    MSDA_DEVICE void publish() const { warp_barrier(); }
    MSDA_DEVICE Point get(int round, int s) const {
        const int at = slot(round, s);
        Point p;
        if constexpr (one_record) {
            const Raw<16> r = load_shared(record(at));
            p.pixel = static_cast<int>(r.word[0]);
#pragma unroll
            for (int i = 0; i < 3; i++) p.number[i] = bits_to_float(r.word[i + 1]);
        } else {
            p.pixel = load_shared(pixels() + at);
#pragma unroll
            for (int i = 0; i < Point::numbers; i++) p.number[i] = load_shared(number(i) + at);
        }
        return p;
    }

  private:
    MSDA_DEVICE Raw<16>* record(int at) const { return reinterpret_cast<Raw<16>*>(mine) + at; }
    MSDA_DEVICE A* number(int i) const { return reinterpret_cast<A*>(mine) + i * slots; }
    MSDA_DEVICE int* pixels() const { return reinterpret_cast<int*>(number(Point::numbers)); }
    static MSDA_DEVICE int slot(int round, int s) { return (round * Lanes + s) * pitch + thread_index() % 32 / Lanes; }
};

template <class A, int Corners, int Lanes, int Rounds, int Staging>
struct StageOf { using type = ShuffleStage<A, Corners, Lanes, Rounds>; };
template <class A, int Corners, int Lanes, int Rounds>
struct StageOf<A, Corners, Lanes, Rounds, 1> { using type = SharedStage<A, Corners, Lanes, Rounds>; };

}  // namespace msda
