// Four functions of NVML (https://docs.nvidia.com/deploy/nvml-api): init, handle by PCI address, clock info.
#include "runtime/measure/clocks.hpp"

#include <fmt/format.h>

namespace msda {
namespace {

template <class Function>
bool find(const LibraryLoader& loader, void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(loader.symbol(library, name));
    return function != nullptr;
}

std::string pci_address(const Driver& driver, CUdevice device) {
    int domain = 0;
    int bus = 0;
    int slot = 0;
    driver.check(driver.device_get_attribute, &domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
    driver.check(driver.device_get_attribute, &bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    driver.check(driver.device_get_attribute, &slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
    return fmt::format("{:08x}:{:02x}:{:02x}.0", domain, bus, slot);
}

}  // namespace

// Within the body: the handler of a constructor's own try block throws again at its end.
Clocks::Clocks(const LibraryLoader& loader, const Driver& driver, CUdevice device) noexcept {
    try {
        std::string error;
        library_ = loader.open("libnvidia-ml.so.1", false, error);
        if (library_ == nullptr) return;
        int (*init)() = nullptr;
        int (*by_address)(const char*, void**) = nullptr;
        int (*clock_info)(void*, int, unsigned*) = nullptr;
        const bool complete = find(loader, library_.get(), "nvmlInit_v2", init) &&
                              find(loader, library_.get(), "nvmlDeviceGetHandleByPciBusId_v2", by_address) &&
                              find(loader, library_.get(), "nvmlDeviceGetClockInfo", clock_info);
        if (!complete || init() != 0) return;
        if (by_address(pci_address(driver, device).c_str(), &device_) == 0) clock_info_ = clock_info;
    } catch (...) {
        clock_info_ = nullptr;
    }
}

int Clocks::read(int kind) const noexcept {
    unsigned mhz = 0;
    return clock_info_ != nullptr && clock_info_(device_, kind, &mhz) == 0 ? static_cast<int>(mhz) : 0;
}

}  // namespace msda
