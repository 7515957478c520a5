// Runtime::doctor: what a person needs to see when something is not found.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "msda/error.hpp"
#include "runtime/device_info.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string devices_text(const Driver& driver) {
    int count = 0;
    driver.check(driver.device_get_count, &count);
    std::string text;
    for (int i = 0; i < count; ++i) {
        const DeviceInfo device = device_info(driver, i);
        const Silicon& silicon = device.silicon;
        text +=
            fmt::format("  gpu {}: {}, sm_{}, {} SMs, {} MiB L2, {}-bit bus, {} GiB{}\n", i, device.name,
                        silicon.capability, silicon.sm_count, silicon.l2_bytes >> 20, silicon.bus_width,
                        device.memory_bytes >> 30, silicon.partition.empty() ? "" : ", partition " + silicon.partition);
    }
    return text;
}

std::string driver_text(Runtime::State& state, int& version) {
    std::string text = "driver:\n";
    std::string found;
    try {
        const auto driver = state.driver();
        version = driver->version;
        found = fmt::format("  {} of CUDA {}\n{}", driver->path, version_text(driver->version), devices_text(*driver));
    } catch (const Error& error) {
        found = fmt::format("  none: {}\n", first_line(error.what()));
    }
    return text + describe(state.driver_attempts()) + found;
}

std::string nvrtc_text(Runtime::State& state, int driver_version) {
    std::string text = "nvrtc:\n";
    std::string found;
    try {
        const auto nvrtc = state.nvrtc(driver_version);
        found = fmt::format("  {} of CUDA {}, architectures {}\n", nvrtc->path(), version_text(nvrtc->info().version),
                            fmt::join(nvrtc->info().architectures, " "));
    } catch (const Error& error) {
        found = fmt::format("  none: {}\n", first_line(error.what()));
    }
    return text + describe(state.nvrtc_attempts()) + found;
}

std::string cache_text(Runtime::State& state) {
    const std::string& directory = state.cache.directory();
    if (directory.empty()) return "cache: off\n";
    try {
        const DiskCache::Usage usage = state.cache.usage();
        return fmt::format("cache: {}, {} entries, {} KiB\n", directory, usage.entries, usage.bytes >> 10);
    } catch (const Error& error) {
        return fmt::format("cache: {}\n", error.what());
    }
}

}  // namespace

std::string Runtime::doctor() {
    int driver_version = 0;
    std::string text = fmt::format("msda-jit {}\n", version());
    text += driver_text(*state_, driver_version);
    text += nvrtc_text(*state_, driver_version);
    text += cache_text(*state_);
    if (!state_->options.database.empty())
        text += fmt::format("database: {} alone (MSDA_DB)\n", state_->options.database);
    return text;
}

}  // namespace msda
