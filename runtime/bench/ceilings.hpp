// What the memory system of this GPU gives at best, measured: the yardstick beside the operator's own rates.
#pragma once

#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/verify/device_buffer.hpp"

namespace msda {

// One access pattern's rate.
struct Ceiling {
    std::string name;  // "gather_l1_64", "gather_l2_128", "gather_dram_64", "red_64", "copy", "fill", ...
    std::string what;  // one line for people
    double bytes_per_s = 0;
};

struct Ceilings {
    std::vector<Ceiling> rates;
    double bare_launch_us = 0;  // host time of one cuLaunchKernel of an empty grid's worth of work

    // By name; 0 when it was not measured.
    double of(const std::string& name) const;
    // The row size, 64 or 128 bytes, whose ceilings a row of `bytes` compares with.
    static int row_bytes(std::int64_t bytes) { return bytes <= 64 ? 64 : 128; }
};

// Measures all in about a tenth of a second, once compiled. Needs a GPU and 1 GiB of its memory. Throws as
// Runtime::prepare.
Ceilings measure_ceilings(Runtime& runtime, const DevicePlace& place);

// The source of the kernels, for NVRTC with template_files() as headers.
std::string ceilings_source();

}  // namespace msda
