// The tensors of one problem on one device: what a verification or a benchmark launches on.
#pragma once

#include <string>

#include "runtime/verify/device_buffer.hpp"

namespace msda {

// Owns a buffer for each tensor that a problem uses, its addresses aligned to Problem::alignment and no better, so that
// what a problem says of its pointers is what a kernel gets. Keeps its memory from one problem to the next.
class DeviceTensors {
  public:
    explicit DeviceTensors(const DevicePlace& place);

    // Makes room for the tensors of a normalised problem and `workspace_bytes` of scratch. Throws Error(out_of_memory).
    void fit(const Problem& problem, std::size_t workspace_bytes);

    // Copies the inputs of the fitted problem to the device.
    void upload(const Inputs& inputs);

    // Fills outputs and workspace with bytes 0xff (NaN in every type) and renews their guards.
    void poison();

    // Copies what the problem writes to the host; on no stream, so after DevicePlace::wait().
    // Into buffers that are used again where they fit: fresh memory of this size costs more than the copy.
    void download(Outputs& outputs) const;

    // The name of a tensor beside which something was written since poison(), or empty.
    std::string overrun() const;

    // The addresses, for Operator::launch.
    Tensors addresses() const;

    const DevicePlace& place() const { return place_; }

  private:
    DevicePlace place_;
    Problem problem_;
    DeviceBuffer value_, locations_, weights_, references_, scales_, grad_output_;
    DeviceBuffer output_, grad_value_, grad_locations_, grad_weights_, grad_references_, workspace_;
};

}  // namespace msda
