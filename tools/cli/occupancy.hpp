// How many blocks of a kernel fit on an SM at once (CUDA programming guide, "Multiprocessor level").
#pragma once

#include <string>

#include "msda/config.hpp"
#include "runtime/kernel_resources.hpp"

namespace msda::cli {

struct Occupancy {
    int blocks_per_sm = 0;
    double fraction = 0;  // of the threads an SM can hold
    std::string limit;    // "registers", "shared memory", "threads" or "blocks"
};

// Registers are given out to a warp in units of 256, shared memory in units of 128 bytes of which a block loses 1 KiB
// from sm_80 on.
Occupancy occupancy(const KernelResources& kernel, int threads, std::size_t dynamic_shared, const Silicon& silicon);

}  // namespace msda::cli
