// The double-precision reference by the quickest way there is: computed on the GPU for operators that run there, since
// the CPU's takes seconds on a large shape, else on the CPU.
#pragma once

#include "runtime/reference/reference.hpp"
#include "runtime/verify/device_tensors.hpp"

namespace msda {

// Computes references of one problem after another; keeps its device memory and its compiled kernels meanwhile. Not
// thread-safe.
class Oracle {
  public:
    // `runtime` must outlive this object.
    Oracle(Runtime& runtime, const DevicePlace& place);

    // True when the problem's reference comes from the GPU: not on host devices, and not with fused references or
    // softmax, which the oracle's kernels do not know.
    bool on_gpu(const Problem& problem) const;

    // The reference of a normalised problem. `tensors` hold the same inputs as `inputs`, on the device. `threads` (0:
    // all) of the host. Throws as Runtime::prepare and Operator::launch.
    ReferenceResult compute(const Problem& problem, const Inputs& inputs, const DeviceTensors& tensors,
                            int threads = 0);

  private:
    ReferenceResult compute_on_gpu(const Problem& problem, const DeviceTensors& tensors);

    Runtime& runtime_;
    DevicePlace place_;
    DeviceBuffer output_, grad_value_, grad_locations_, grad_weights_;
};

}  // namespace msda
