#include "runtime/device_info.hpp"

#include <fmt/format.h>

#include <array>

#include "msda/error.hpp"

namespace msda {

std::string partition_of(const std::string& device_name) {
    constexpr std::string_view mark = "MIG ";
    const auto at = device_name.find(mark);
    return at == std::string::npos ? "" : device_name.substr(at + mark.size());
}

DeviceInfo device_info(const Driver& driver, int ordinal) {
    int count = 0;
    driver.check(driver.device_get_count, &count);
    if (ordinal < 0 || ordinal >= count)
        throw Error(Code::invalid_argument, fmt::format("expected a GPU from 0 to {}, got {}", count - 1, ordinal));
    DeviceInfo info;
    info.ordinal = ordinal;
    driver.check(driver.device_get, &info.handle, ordinal);
    std::array<char, 256> name{};
    driver.check(driver.device_get_name, name.data(), static_cast<int>(name.size()) - 1, info.handle);
    info.name = name.data();
    std::size_t bytes = 0;
    driver.check(driver.device_total_mem, &bytes, info.handle);
    info.memory_bytes = static_cast<std::int64_t>(bytes);
    const auto ask = [&](CUdevice_attribute attribute) {
        int value = 0;
        driver.check(driver.device_get_attribute, &value, attribute, info.handle);
        return value;
    };
    Silicon& silicon = info.silicon;
    silicon.capability =
        10 * ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    silicon.sm_count = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    silicon.l2_bytes = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    silicon.bus_width = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    silicon.shared_per_block = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    silicon.shared_per_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    silicon.registers_per_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    silicon.threads_per_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    silicon.partition = partition_of(info.name);
    return info;
}

}  // namespace msda
