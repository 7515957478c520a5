// Holds a stream back until told to go on, so that a batch of launches is queued completely before the first one runs
// and the host's speed never shows in a timing.
#pragma once

#include "runtime/device_stream.hpp"

namespace msda {

// One word of pinned host memory that streams wait for.
class Blocker {
  public:
    explicit Blocker(std::shared_ptr<DeviceContext> context);
    ~Blocker();
    Blocker(const Blocker&) = delete;
    Blocker& operator=(const Blocker&) = delete;

    // What is put on the stream after this runs only after release(). At most ~1000 launches may follow: a full queue
    // would wait for the release and never return.
    void block(const DeviceStream& stream);
    void release() noexcept;

  private:
    std::shared_ptr<DeviceContext> context_;
    volatile unsigned* word_ = nullptr;
    CUdeviceptr address_ = 0;
    unsigned ticket_ = 0;
};

}  // namespace msda
