// The smallest of four quotients.
#include "tools/cli/occupancy.hpp"

#include <algorithm>

namespace msda::cli {
namespace {

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

int most_blocks(int capability) {
    if (capability == 75 || capability / 10 == 8) return capability == 80 ? 32 : capability == 89 ? 24 : 16;
    return 32;
}

}  // namespace

Occupancy occupancy(const KernelResources& kernel, int threads, std::size_t dynamic_shared, const Silicon& silicon) {
    if (threads <= 0) return {};
    const int warps = (threads + 31) / 32;
    const int registers = round_up(std::max(kernel.registers, 1) * 32, 256) * warps;
    const int reserved = silicon.capability >= 80 ? 1024 : 0;
    const int shared =
        round_up(static_cast<int>(dynamic_shared) + static_cast<int>(kernel.shared_bytes) + reserved, 128);
    Occupancy result{silicon.threads_per_sm / (warps * 32), 0, "threads"};
    const auto limit = [&](int blocks, const char* what) {
        if (blocks < result.blocks_per_sm) result = {blocks, 0, what};
    };
    limit(silicon.registers_per_sm / registers, "registers");
    if (shared > 0) limit(silicon.shared_per_sm / shared, "shared memory");
    limit(most_blocks(silicon.capability), "blocks");
    result.fraction = static_cast<double>(result.blocks_per_sm * warps * 32) / silicon.threads_per_sm;
    return result;
}

}  // namespace msda::cli
