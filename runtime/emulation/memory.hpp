// Memory accesses of templates/arch.cuh for the emulation: each is announced to the engine (alignment, bounds, counts)
// and then made as an ordinary access, so that AddressSanitizer and ThreadSanitizer see it as one.
#pragma once

#include "runtime/emulation/emulation.hpp"

namespace msda {
namespace emulation {

inline void announce(Access kind, const void* p, int bytes, Site site) {
    Thread& self = *current();
    self.engine->access(self, kind, p, bytes, site);
}

// A relaxed atomic add, as red and atomicAdd are.
template <class T>
inline void add_relaxed(T* p, T v) {
    T before, after;
    __atomic_load(p, &before, __ATOMIC_RELAXED);
    do {
        after = before + v;
    } while (!__atomic_compare_exchange(p, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

// The same on a packed pair of 16-bit numbers, each sum rounded to its own type.
template <class Add>
inline void add_pair_relaxed(void* p, u32 pair, Add add) {
    u32* word = static_cast<u32*>(p);
    u32 before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
    do {
        after = add(static_cast<u16>(before), static_cast<u16>(pair)) |
                static_cast<u32>(add(static_cast<u16>(before >> 16), static_cast<u16>(pair >> 16))) << 16;
    } while (!__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace emulation

template <int Bytes>
MSDA_DEVICE Raw<Bytes> load_global(const void* p, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_load, p, Bytes, site);
    return *static_cast<const Raw<Bytes>*>(p);
}
template <int Bytes>
MSDA_DEVICE Raw<Bytes> load_written(const void* p, emulation::Site site = emulation::Site::here()) {
    return load_global<Bytes>(p, site);
}
template <int Bytes>
MSDA_DEVICE void store_global(void* p, Raw<Bytes> r, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_store, p, Bytes, site);
    *static_cast<Raw<Bytes>*>(p) = r;
}

template <class T>
MSDA_DEVICE T load_shared(const T* p, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::shared_load, p, sizeof(T), site);
    return *p;
}
template <class T>
MSDA_DEVICE void store_shared(T* p, T v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::shared_store, p, sizeof(T), site);
    *p = v;
}
MSDA_DEVICE int shared_add(int* p, int v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::shared_atomic, p, sizeof(int), site);
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
MSDA_DEVICE void shared_min(int* p, int v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::shared_atomic, p, sizeof(int), site);
    int now = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (v < now && !__atomic_compare_exchange_n(p, &now, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
MSDA_DEVICE void shared_max(int* p, int v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::shared_atomic, p, sizeof(int), site);
    int now = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (v > now && !__atomic_compare_exchange_n(p, &now, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

MSDA_DEVICE void red_f32(float* p, float v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, sizeof(float), site);
    emulation::add_relaxed(p, v);
}
MSDA_DEVICE void red_f64(double* p, double v, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, sizeof(double), site);
    emulation::add_relaxed(p, v);
}
// A vector red is one access; its elements are added one by one, as the hardware promises no more.
MSDA_DEVICE void red_f32x4(float* p, float a, float b, float c, float d,
                           emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 4 * sizeof(float), site);
    emulation::add_relaxed(p, a);
    emulation::add_relaxed(p + 1, b);
    emulation::add_relaxed(p + 2, c);
    emulation::add_relaxed(p + 3, d);
}
MSDA_DEVICE void red_f32x2(float* p, float a, float b, emulation::Site site = emulation::Site::here()) {
    emulation::announce(emulation::Access::global_red, p, 2 * sizeof(float), site);
    emulation::add_relaxed(p, a);
    emulation::add_relaxed(p + 1, b);
}

}  // namespace msda
