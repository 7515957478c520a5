// What a kernel takes of an SM, read from the assembler's report (--ptxas-options=-v) in NVRTC's log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msda {

struct KernelResources {
    std::string name;
    int registers = 0;             // a thread
    std::int64_t stack_bytes = 0;  // a thread
    std::int64_t spill_store_bytes = 0;
    std::int64_t spill_load_bytes = 0;
    std::int64_t shared_bytes = 0;  // a block, static
};

// One entry a kernel, sorted by name; lines of other tools are skipped.
std::vector<KernelResources> parse_resources(std::string_view log);

}  // namespace msda
