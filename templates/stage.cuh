// How a point that one lane prepared reaches the other lanes of its group: by warp shuffles, or through the warp's own part of shared memory.
// A batch holds `Rounds` prepared points a lane; lane s's point of round r is point (r·lanes + s)·split + part of the row.
#pragma once

#include "sample.cuh"

namespace msda {

// The level of point `p`, where `first` … `last` are the points that the lanes working side by side may have: a constant if all are on one level.
template <class T>
MSDA_DEVICE int level_within(int first, int last, int p) {
    const int l = T::level_of(first);
    return l == T::level_of(last < T::points ? last : T::points - 1) ? l : T::level_of(p);
}

// Keeps the points in registers; get() costs one shuffle a word and no shared memory, which stays with L1.
template <class A, int Corners, int Lanes, int Rounds>
struct ShuffleStage {
    Prepared<A, Corners> point[Rounds];

    MSDA_DEVICE explicit ShuffleStage(char*) {}
    MSDA_DEVICE void put(int round, int, const Prepared<A, Corners>& p) { point[round] = p; }
    MSDA_DEVICE void publish() const {}
    MSDA_DEVICE int pixel(int round, int s) const { return spread(point[round].pixel, s); }
    MSDA_DEVICE u32 valid(int round, int s) const { return spread(point[round].valid, s); }
    MSDA_DEVICE void weights(int round, int s, A* w) const {
#pragma unroll
        for (int c = 0; c < Corners; c++) w[c] = spread(point[round].weight[c], s);
    }

  private:
    template <class V>
    static MSDA_DEVICE V spread(V v, int s) {
        if constexpr (Lanes == 1) return v;
        else return shuffle(v, s, Lanes);
    }
};

// Keeps the points in shared memory, [round][lane slot][group] so that the groups of a warp read neighbouring words.
template <class A, int Corners, int Lanes, int Rounds>
struct SharedStage {
    static constexpr int slots = Rounds * 32;  // points a warp holds
    static constexpr int bytes_per_warp = slots * static_cast<int>(Corners * sizeof(A) + 2 * sizeof(int));

    char* mine;
    MSDA_DEVICE explicit SharedStage(char* shared) : mine(shared + thread_index() / 32 * bytes_per_warp) {}

    MSDA_DEVICE void put(int round, int lane, const Prepared<A, Corners>& p) const {
        const int at = slot(round, lane);
        A* w = reinterpret_cast<A*>(mine) + at * Corners;
#pragma unroll
        for (int c = 0; c < Corners; c++) store_shared(w + c, p.weight[c]);
        store_shared(ints() + at, p.pixel);
        store_shared(ints() + slots + at, static_cast<int>(p.valid));
    }
    MSDA_DEVICE void publish() const { warp_barrier(); }
    MSDA_DEVICE int pixel(int round, int s) const { return load_shared(ints() + slot(round, s)); }
    MSDA_DEVICE u32 valid(int round, int s) const { return static_cast<u32>(load_shared(ints() + slots + slot(round, s))); }
    MSDA_DEVICE void weights(int round, int s, A* w) const {
        if constexpr (Corners == 4 && sizeof(A) == 4) {
            const Raw<16> r = load_shared(reinterpret_cast<const Raw<16>*>(mine) + slot(round, s));
#pragma unroll
            for (int c = 0; c < 4; c++) w[c] = bits_to_float(r.word[c]);
        } else {
#pragma unroll
            for (int c = 0; c < Corners; c++) w[c] = load_shared(reinterpret_cast<const A*>(mine) + slot(round, s) * Corners + c);
        }
    }

  private:
    MSDA_DEVICE int* ints() const { return reinterpret_cast<int*>(mine + slots * Corners * sizeof(A)); }
    static MSDA_DEVICE int slot(int round, int s) { return (round * Lanes + s) * (32 / Lanes) + thread_index() % 32 / Lanes; }
};

template <class A, int Corners, int Lanes, int Rounds, int Staging>
struct StageOf { using type = ShuffleStage<A, Corners, Lanes, Rounds>; };
template <class A, int Corners, int Lanes, int Rounds>
struct StageOf<A, Corners, Lanes, Rounds, 1> { using type = SharedStage<A, Corners, Lanes, Rounds>; };

}  // namespace msda
