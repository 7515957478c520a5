// The state of one emulated block and the engine functions that its threads call: who runs, who waits where, what went
// wrong.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/emulation/counts.hpp"
#include "runtime/emulation/fiber.hpp"
#include "runtime/emulation/machine.hpp"
#include "runtime/emulation/multiprocessor.hpp"

namespace msda::emulation {

struct Block;
struct Warp;

// A thread and where it waits. In Block::lanes, by index.
struct Lane : Thread {
    Block* owner = nullptr;
    Warp* warp = nullptr;
    Site waits_at;
    Fiber* fiber = nullptr;

    std::uint32_t bit() const { return 1u << (index & 31); }
};

// Sets of lanes are bit masks. A meeting (collective or warp barrier) is over when all 32 lanes have arrived.
struct Warp {
    std::uint32_t members = 0;   // threads that exist
    std::uint32_t ready = 0;     // may run
    std::uint32_t arrived = 0;   // at the meeting that is going on
    std::uint32_t at_block = 0;  // at the block barrier
    Collective what{};           // of that meeting, and its place
    Site site;
    // Two of each, used in turn: a lane can be a meeting ahead of one that has yet to read what the last one brought,
    // never two.
    int phase = 0;
    unsigned long long brought[2][32] = {};
    char order[2] = {};  // addresses for acquire() and release()
    WarpLog log;
};

// The first rule that a kernel broke, if any.
struct Fault {
    enum class Rule : std::uint8_t {
        none,
        progress,
        same_collective,
        same_barrier,
        whole_warp,
        alignment,
        bounds,
        shared_bounds
    } rule = Rule::none;
    int thread = 0;
    Site site, other;
    Access kind{};
    const char* address = nullptr;
    int bytes = 0;
};

struct Block {
    const Grid* grid = nullptr;
    Fiber host;
    std::unique_ptr<Warp[]> warps;
    std::unique_ptr<Lane[]> lanes;
    int threads = 0;
    int finished = 0;
    int arrived = 0;  // at the block barrier, and its place
    Site barrier;
    int phase = 0;
    char order[2] = {};
    char started = 0;  // address for acquire() and release()
    Fault fault;
    Counts counts;
};

// The functions that a kernel calls.
extern const Engine engine;

// The thread whose code runs now on the calling host thread; every module asks it.
Thread* current_thread();

// Entry of every fiber; takes its Lane.
void thread_main(void* lane);

// Makes every thread ready, and runs the block until all have finished or one has broken a rule.
void run_block(Block& block);

// One sentence on block.fault.
std::string describe(const Block& block);

}  // namespace msda::emulation
