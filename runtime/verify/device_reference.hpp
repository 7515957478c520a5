// A problem's reference on the GPU, so that a launch can be confirmed there: a large backward writes more than 100 MB,
// which a tuner would copy to the host for each of its candidates.
#pragma once

#include "runtime/reference/reference.hpp"
#include "runtime/verify/device_comparison.hpp"
#include "runtime/verify/device_tensors.hpp"

namespace msda {

// Keeps its memory and its kernels from one problem to the next. Not thread-safe.
class DeviceReference {
  public:
    // `place` is a GPU. Throws as Runtime::prepare.
    DeviceReference(Runtime& runtime, const DevicePlace& place);

    // Copies the reference of a normalised problem to the GPU. Throws Error(out_of_memory).
    void set(const Problem& problem, const ReferenceResult& reference);

    // True when each tensor of the reference is finite in `got` and within its tolerance; `got` has no launch under way.
    // False says that the host must judge: what is not finite may be right. Waits. Throws Error(driver_failed).
    bool confirms(const DeviceTensors& got);

  private:
    DeviceComparison comparison_;
    Problem problem_;
    DeviceBuffer output_, grad_value_, grad_locations_, grad_weights_;  // empty: not asked for
};

}  // namespace msda
