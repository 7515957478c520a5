// The distance of a tensor on a GPU from its double-precision reference there, without copying either to the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "msda/msda.hpp"
#include "runtime/module.hpp"
#include "runtime/verify/device_buffer.hpp"

namespace msda {

// Holds the comparison's kernels in one context. Not thread-safe.
class DeviceComparison {
  public:
    // `place` is a GPU. Compiles the kernels or finds them in the cache. Throws as Runtime::prepare.
    DeviceComparison(Runtime& runtime, const DevicePlace& place);

    // ‖got − reference‖ / ‖reference‖ over `count` ≥ 1 elements of `type` and double, as compare() gives it; NaN where an
    // element is not finite, which is for compare() to judge. Waits. Throws Error(driver_failed).
    double norm_error(const void* reference, Type type, const void* got, std::int64_t count);

  private:
    std::shared_ptr<DeviceContext> context_;
    DeviceBuffer distances_;
    Module module_;
};

// The source of the kernels, for NVRTC with template_files() as headers.
std::string comparison_source();

}  // namespace msda
