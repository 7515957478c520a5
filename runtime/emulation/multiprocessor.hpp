// Runs the blocks of an emulated kernel one after another on the calling host thread: threads are fibers, barriers and
// warp collectives wait for exactly the threads that the hardware would wait for, and what would hang or corrupt there
// is an error here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulation/counts.hpp"

namespace msda::emulation {

// A range of memory that a kernel may touch.
struct Extent {
    std::string name;  // of the tensor, for messages
    const char* begin = nullptr;
    std::size_t bytes = 0;
    bool writable = false;
};

// In which order the threads of a block get their turn; the result of a right kernel does not depend on it.
enum class Order : std::uint8_t { ascending, descending };

// One grid. What it points to belongs to the caller.
struct Grid {
    using Entry = void (*)(void** arguments);  // one thread's execution of the kernel

    std::string name;  // of the kernel, for messages
    Entry entry = nullptr;
    void** arguments = nullptr;
    std::uint32_t blocks = 1;
    int threads = 32;                    // a block
    std::size_t shared_bytes = 0;        // a block
    std::uint32_t poison = 0xffffffffu;  // fills shared memory before each block
    Order order = Order::ascending;
    const std::vector<Extent>* extents = nullptr;  // null: global accesses are not checked against bounds
    bool count = false;
};

// One host thread's worth of machine. Not thread-safe; may move between host threads from launch to launch.
class Multiprocessor {
  public:
    Multiprocessor();
    ~Multiprocessor();

    // Runs the blocks first, first + step, first + 2·step, … of the grid. Throws Error(driver_failed) naming kernel,
    // block, thread and place when the kernel breaks a rule: a barrier or collective that not all threads reach, a
    // misaligned access, one out of bounds.
    void run(const Grid& grid, std::uint32_t first, std::uint32_t step);

    // Takes over what the blocks did, once all multiprocessors of a launch have run: to ThreadSanitizer blocks are
    // unordered until then. Returns what was counted since the last call.
    Counts collect();

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace msda::emulation
