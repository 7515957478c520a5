// Several copies of one problem's tensors, used in turn, so that no launch finds its inputs in L2.
#pragma once

#include <deque>

#include "runtime/verify/device_tensors.hpp"

namespace msda {

// Owns the copies. Not thread-safe.
class RotatingTensors {
  public:
    // Uploads `inputs` of a normalised problem into as many copies as make 3 × L2 (L2 does not evict in strict order,
    // so 1 × would leave hits), at most 64 and at most a quarter of the free device memory; one on the host. Throws
    // Error(out_of_memory).
    RotatingTensors(const DevicePlace& place, const Problem& problem, const Inputs& inputs,
                    std::size_t workspace_bytes);

    std::size_t copies() const { return copies_.size(); }
    // The copy that follows the last one.
    DeviceTensors& next();
    // Always the same one: its inputs stay in L2, if they fit.
    DeviceTensors& first() { return copies_.front(); }
    const DevicePlace& place() const { return place_; }

  private:
    DevicePlace place_;
    std::size_t turn_ = 0;
    std::deque<DeviceTensors> copies_;
};

// Bytes of all tensors that a launch of the problem reads or writes, without workspace.
std::size_t tensor_bytes(const Problem& problem);

}  // namespace msda
