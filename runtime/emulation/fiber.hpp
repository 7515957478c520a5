// Cooperative fibers: the threads of an emulated block, each with its own stack, all on one host thread. A switch costs
// a few nanoseconds; AddressSanitizer is told of every switch, and for ThreadSanitizer each fiber is a thread of its
// own that no switch orders.
#pragma once

#include <cstddef>
#include <vector>

namespace msda::emulation {

// An execution that can be left and taken up again. The default-made fiber stands for the host thread's own stack.
struct Fiber {
    void* stack_pointer = nullptr;  // while it does not run
    void* stack = nullptr;          // lowest address
    std::size_t stack_bytes = 0;
    void* asan_stack = nullptr;  // AddressSanitizer's own stack of it, while it does not run
    void* tsan_fiber = nullptr;
};

// The calling host thread as a fiber to come back to.
Fiber host_fiber();

// Leaves `from`, which must be the running one, and continues `to`.
void switch_fiber(Fiber& from, Fiber& to);

// The first call of every fiber's entry.
void begin_fiber();

// To ThreadSanitizer, makes all that the fiber did until now happen before what the caller does next. The fiber must
// not be running.
void take_over(Fiber& fiber);

// A number of fibers with guarded stacks. The destructor frees them wherever they stopped: nothing on their stacks is
// unwound.
class Fibers {
  public:
    // Each fiber begins in entry(argument(i)), which must never return.
    Fibers(int count, void (*entry)(void*), void* (*argument)(void* context, int index), void* context);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    int count() const { return static_cast<int>(fibers_.size()); }
    Fiber& operator[](int i) { return fibers_[static_cast<std::size_t>(i)]; }

  private:
    std::vector<Fiber> fibers_;
    char* region_ = nullptr;
    std::size_t region_bytes_ = 0;
};

}  // namespace msda::emulation
