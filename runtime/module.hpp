// Kernels loaded into a context.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/plan.hpp"
#include "runtime/compiler.hpp"
#include "runtime/device_context.hpp"

namespace msda {

// A loaded module and the functions of a plan's steps. Unloaded after its last launch has finished; never, once
// launched under capture.
class Module {
  public:
    // Loads a binary and readies one function a kernel step of `plan`, forcing in what the driver would load lazily and
    // allowing the shared memory each needs. The context must be current. Throws Error(driver_failed, unsupported)
    // whose log() holds the driver's own.
    Module(std::shared_ptr<DeviceContext> context, const Binary& binary, const Plan& plan);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    // By step; null for a zero step.
    CUfunction function(std::size_t step) const noexcept { return functions_[step]; }

    // True when it was launched under capture.
    bool kept_forever() const noexcept { return log_.kept_forever(); }

    // To be called right before kernels go to `stream`.
    void before_launch(CUstream stream) const noexcept {
        if (log_.kept_forever()) return;
        if (is_capturing_now(stream))
            log_.keep_forever();
        else
            log_.note(context_->driver(), stream);
    }

  private:
    bool is_capturing_now(CUstream stream) const noexcept {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        return context_->driver().stream_is_capturing(stream, &status) == CUDA_SUCCESS &&
               status != CU_STREAM_CAPTURE_STATUS_NONE;
    }
    void load(const Binary& binary);
    CUfunction ready(const std::string& kernel, std::size_t shared_bytes) const;

    std::shared_ptr<DeviceContext> context_;
    CUmodule module_ = nullptr;
    std::vector<CUfunction> functions_;
    mutable LaunchLog log_;
};

}  // namespace msda
