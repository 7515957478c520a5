// Which sanitizer this library is built with, and the attribute of code that runs between threads of an emulated block:
// the engine's own bookkeeping must be invisible to ThreadSanitizer, which would take it for races (or, worse, for
// synchronisation) of the kernel.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MSDA_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MSDA_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(MSDA_ASAN)
#define MSDA_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(MSDA_TSAN)
#define MSDA_TSAN 1
#endif

#ifdef MSDA_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MSDA_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define MSDA_UNSEEN __attribute__((no_sanitize("thread", "address", "undefined")))

namespace msda::emulation {

// What one thread did before release() is seen by ThreadSanitizer as done before what another does after acquire() of
// the same address.
#ifdef MSDA_TSAN
inline void acquire(void* p) { __tsan_acquire(p); }
inline void release(void* p) { __tsan_release(p); }
constexpr bool under_tsan = true;
#else
inline void acquire(void*) {}
inline void release(void*) {}
constexpr bool under_tsan = false;
#endif
#ifdef MSDA_ASAN
constexpr bool under_asan = true;
#else
constexpr bool under_asan = false;
#endif

}  // namespace msda::emulation
