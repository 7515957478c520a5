// What an emulated kernel and the engine that runs it share: a thread's place in its block and the calls into the
// engine. Plain data without any include: the library and every emitted source compile it alike.
#pragma once

namespace msda::emulation {

// Where in the templates a primitive was called; `file` is a string literal of the emulated module.
struct Site {
    const char* file = nullptr;
    int line = 0;
    // As a default argument, the place of the call.
    static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

// Kinds of memory access, counted apart.
enum class Access : unsigned char { global_load, global_store, global_red, shared_load, shared_store, shared_atomic };
constexpr int access_kinds = 6;

// What the 32 lanes of a warp do together; lanes that meet must agree on it.
enum class Collective : unsigned char {
    shuffle,
    shuffle_xor,
    shuffle_up,
    any,
    ballot,
    minimum,
    maximum,
    load_tiles,
    multiply_tile,
    barrier
};

struct Thread;

// The engine's functions. None returns when the kernel broke a rule: the whole block is then given up and the launch
// throws.
struct Engine {
    // Waits until all 32 lanes of the warp are there; returns what each of them brought. Orders no memory.
    const unsigned long long* (*meet)(Thread&, Collective, unsigned long long brought, Site);
    // Waits for all lanes of the warp, and orders their memory accesses.
    void (*warp_barrier)(Thread&, Site);
    // Waits for all threads of the block, and orders their memory accesses.
    void (*block_barrier)(Thread&, Site);
    // Checks alignment and bounds of an access of `bytes` bytes that is about to be made, and counts it where counts
    // are wanted.
    void (*access)(Thread&, Access, const void* address, int bytes, Site);
};

// One thread of a block, as its kernel sees it.
struct Thread {
    const Engine* engine = nullptr;
    int index = 0;           // in the block
    unsigned block = 0;      // in the grid
    char* shared = nullptr;  // the block's dynamic shared memory, 128-byte aligned
};

}  // namespace msda::emulation
