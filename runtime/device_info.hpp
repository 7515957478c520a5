// What a GPU is, asked of the driver without making a context.
#pragma once

#include <cstdint>
#include <string>

#include "msda/config.hpp"
#include "runtime/driver.hpp"

namespace msda {

struct DeviceInfo {
    int ordinal = 0;
    CUdevice handle = 0;
    std::string name;  // a label only: silicon decides
    std::int64_t memory_bytes = 0;
    Silicon silicon;
};

// Throws Error(invalid_argument) for an ordinal that is not there, Error(driver_failed).
DeviceInfo device_info(const Driver& driver, int ordinal);

// "1g.10gb" of "NVIDIA H100 80GB HBM3 MIG 1g.10gb", empty for a whole GPU.
std::string partition_of(const std::string& device_name);

}  // namespace msda
