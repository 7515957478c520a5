// What makes two GPUs the same to the database: their silicon. The marketing name is a label and never compared, since
// one name covers several chips and one chip goes by several names.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "msda/config.hpp"

namespace msda {

// The part of Silicon that decides how fast a config runs. Ordered, so that files and hashes are the same everywhere.
struct SiliconKey {
    int capability = 0;  // 10·major + minor
    int sm_count = 0;
    std::int64_t l2_bytes = 0;
    int bus_width = 0;      // bits; 0: unknown
    std::string partition;  // MIG profile; empty: the whole GPU; "simulated": no GPU at all
    auto operator<=>(const SiliconKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes its 0 for a pointer
};

// The partition of records that the simulated device wrote; such a record never answers for a real GPU.
inline constexpr std::string_view simulated_partition = "simulated";

SiliconKey key_of(const Silicon& silicon);

// "sm_90 sms=132 l2=62914560 bus=6144 partition=whole", for tables and messages.
std::string canonical(const SiliconKey& key);

}  // namespace msda
