// Streams, events and graphs of the CUDA driver as owned objects, for timing and tuning; operators themselves use the
// caller's.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device_context.hpp"

namespace msda {

// A stream that does not wait for the legacy default stream.
class DeviceStream {
  public:
    // Throws Error(driver_failed), as everything below.
    explicit DeviceStream(std::shared_ptr<DeviceContext> context);
    ~DeviceStream();
    DeviceStream(const DeviceStream&) = delete;
    DeviceStream& operator=(const DeviceStream&) = delete;

    CUstream handle() const noexcept { return stream_; }
    const std::shared_ptr<DeviceContext>& context() const noexcept { return context_; }

    // Waits until all work on the stream is done.
    void synchronize() const;

  private:
    std::shared_ptr<DeviceContext> context_;
    CUstream stream_ = nullptr;
};

// A point in a stream's work, with a time.
class DeviceEvent {
  public:
    explicit DeviceEvent(std::shared_ptr<DeviceContext> context);
    ~DeviceEvent();
    DeviceEvent(const DeviceEvent&) = delete;
    DeviceEvent& operator=(const DeviceEvent&) = delete;

    void record(const DeviceStream& stream) const;
    // Waits until the stream has reached this point.
    void synchronize() const;
    // Microseconds from `begin` to this event; both must have been reached.
    double microseconds_since(const DeviceEvent& begin) const;

  private:
    std::shared_ptr<DeviceContext> context_;
    CUevent event_ = nullptr;
};

// Work captured once and launched as a whole.
class DeviceGraph {
  public:
    // Captures what `enqueue` puts on the stream. Also when it throws, the capture is ended and nothing is left behind.
    DeviceGraph(const DeviceStream& stream, const std::function<void()>& enqueue);
    ~DeviceGraph();
    DeviceGraph(const DeviceGraph&) = delete;
    DeviceGraph& operator=(const DeviceGraph&) = delete;

    void launch(const DeviceStream& stream) const;

  private:
    std::shared_ptr<DeviceContext> context_;
    CUgraphExec graph_ = nullptr;
};

}  // namespace msda
