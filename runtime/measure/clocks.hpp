// The GPU's clocks as NVML tells them, to see throttling and to note them in records. NVML is opened at run time and
// may be missing: then clocks are 0, "unknown".
#pragma once

#include <memory>

#include "runtime/driver.hpp"
#include "runtime/library_loader.hpp"

namespace msda {

class Clocks {
  public:
    // Finds the device by its PCI address, since NVML's order is not CUDA's. Never throws.
    Clocks(const LibraryLoader& loader, const Driver& driver, CUdevice device) noexcept;
    // All clocks unknown.
    Clocks() = default;

    // MHz now; 0: unknown.
    int sm_mhz() const noexcept { return read(1); }
    int memory_mhz() const noexcept { return read(2); }

  private:
    int read(int kind) const noexcept;

    std::shared_ptr<void> library_;
    void* device_ = nullptr;
    int (*clock_info_)(void* device, int kind, unsigned* mhz) = nullptr;
};

}  // namespace msda
