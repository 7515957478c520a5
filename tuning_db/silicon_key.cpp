// Identity of a GPU, and its text.
#include "tuning_db/silicon_key.hpp"

#include <fmt/format.h>

namespace msda {

SiliconKey key_of(const Silicon& silicon) {
    return {silicon.capability, silicon.sm_count, silicon.l2_bytes, silicon.bus_width, silicon.partition};
}

std::string canonical(const SiliconKey& key) {
    return fmt::format("sm_{} sms={} l2={} bus={} partition={}", key.capability, key.sm_count, key.l2_bytes,
                       key.bus_width, key.partition.empty() ? "whole" : key.partition);
}

}  // namespace msda
