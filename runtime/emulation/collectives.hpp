// Barriers and warp collectives of templates/arch.cuh for the emulation: the lanes of a warp meet in the engine, then
// each computes its own result from what all 32 brought.
#pragma once

#include "runtime/emulation/emulation.hpp"

namespace msda {
namespace emulation {

// Lays out a value of up to eight bytes as a word that the engine passes on, and takes it back.
template <class T>
inline u64 to_word(T v) {
    u64 word = 0;
    __builtin_memcpy(&word, &v, sizeof v);
    return word;
}
template <class T>
inline T from_word(u64 word) {
    T v;
    __builtin_memcpy(&v, &word, sizeof v);
    return v;
}

inline int lane() { return current()->index % 32; }

template <class T>
inline const u64* meet(Collective what, T v, Site site) {
    static_assert(sizeof(T) <= 8, "a shuffle moves int, u32, float or double");
    Thread& self = *current();
    return self.engine->meet(self, what, to_word(v), site);
}

}  // namespace emulation

MSDA_DEVICE void block_barrier(emulation::Site site = emulation::Site::here()) {
    emulation::Thread& self = *emulation::current();
    self.engine->block_barrier(self, site);
}
MSDA_DEVICE void warp_barrier(emulation::Site site = emulation::Site::here()) {
    emulation::Thread& self = *emulation::current();
    self.engine->warp_barrier(self, site);
}

template <class T>
MSDA_DEVICE T shuffle(T v, int source, int width, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::shuffle, v, site);
    return emulation::from_word<T>(all[(emulation::lane() & ~(width - 1)) | (source & (width - 1))]);
}
template <class T>
MSDA_DEVICE T shuffle_xor(T v, int mask, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::shuffle_xor, v, site);
    const int from = emulation::lane() ^ mask;
    return from < 32 ? emulation::from_word<T>(all[from]) : v;
}
template <class T>
MSDA_DEVICE T shuffle_up(T v, int delta, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::shuffle_up, v, site);
    const int from = emulation::lane() - delta;
    return from >= 0 ? emulation::from_word<T>(all[from]) : v;
}
MSDA_DEVICE bool warp_any(bool p, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::any, p, site);
    bool any = false;
    for (int i = 0; i < 32; i++) any |= all[i] != 0;
    return any;
}
MSDA_DEVICE u32 warp_ballot(bool p, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::ballot, p, site);
    u32 ballot = 0;
    for (int i = 0; i < 32; i++) ballot |= (all[i] != 0 ? 1u : 0u) << i;
    return ballot;
}
MSDA_DEVICE int warp_min(int v, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::minimum, v, site);
    for (int i = 0; i < 32; i++) {
        const int other = emulation::from_word<int>(all[i]);
        v = other < v ? other : v;
    }
    return v;
}
MSDA_DEVICE int warp_max(int v, emulation::Site site = emulation::Site::here()) {
    const u64* all = emulation::meet(emulation::Collective::maximum, v, site);
    for (int i = 0; i < 32; i++) {
        const int other = emulation::from_word<int>(all[i]);
        v = other > v ? other : v;
    }
    return v;
}
MSDA_DEVICE int popcount(u32 v) { return __builtin_popcount(v); }

}  // namespace msda
