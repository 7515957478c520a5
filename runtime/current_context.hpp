// Scopes that leave a thread's CUDA state as they found it, also when an exception passes through.
#pragma once

#include "runtime/driver.hpp"

namespace msda {

// Makes a context current while it lives. Does nothing but ask when it is current already.
class CurrentContext {
  public:
    CurrentContext(const Driver& driver, CUcontext wanted) : driver_(driver) {
        CUcontext current = nullptr;
        driver.check(driver.ctx_get_current, &current);
        if (current == wanted) return;
        driver.check(driver.ctx_push_current, wanted);
        pushed_ = true;
    }
    ~CurrentContext() {
        CUcontext popped = nullptr;
        if (pushed_) driver_.ctx_pop_current(&popped);
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

  private:
    const Driver& driver_;
    bool pushed_ = false;
};

// Lets this thread load and free while other streams are being captured, without ending those captures.
class RelaxedCapture {
  public:
    explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
        exchanged_ = driver_.thread_exchange_stream_capture_mode(&mode_) == CUDA_SUCCESS;
    }
    ~RelaxedCapture() {
        if (exchanged_) driver_.thread_exchange_stream_capture_mode(&mode_);
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const Driver& driver_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool exchanged_ = false;
};

// True when `stream` is being captured, in the current context. The legacy default stream counts as captured while a
// blocking stream is (asking does not end that capture).
inline bool is_capturing(const Driver& driver, CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver.stream_is_capturing(stream, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
           (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace msda
