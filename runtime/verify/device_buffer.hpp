// Memory on a device, or on the host for devices that run there, behind one small class: what verification, timing and
// benchmarks keep their tensors in.
#pragma once

#include <cstddef>
#include <memory>

#include "msda/msda.hpp"
#include "runtime/device_context.hpp"
#include "runtime/inputs.hpp"

namespace msda {

// A device as a place for memory. Copyable; `context` is null for cpu and emulated devices.
struct DevicePlace {
    Device device = Device::cpu();
    std::shared_ptr<DeviceContext> context;

    // The place where the runtime's operators for that device run. Throws Error as Runtime::prepare.
    static DevicePlace of(Runtime& runtime, Device device);

    // Waits for all work on `stream`; nothing to wait for on the host. Throws Error(driver_failed), which is where a
    // kernel's fault shows.
    void wait(Stream stream = nullptr) const;
};

// Owns bytes between two guards of 256 bytes, which a kernel that writes past its tensor overwrites.
// 256-byte aligned; grows on demand and never shrinks, so that one serves a list of problems. All copies wait.
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(DevicePlace place) : place_(std::move(place)) {}
    ~DeviceBuffer() { free(); }
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

    // Makes room for `bytes`, at `offset` bytes (below 256) past the aligned start; the content is lost. Throws
    // Error(out_of_memory).
    void resize(std::size_t bytes, std::size_t offset = 0);

    // Null when empty.
    void* data() const noexcept;
    std::size_t bytes() const noexcept { return bytes_; }

    // Sets all bytes and renews the guards, in order with earlier work on the legacy stream.
    void fill(unsigned char byte);
    // Copies bytes() bytes from or to host memory.
    void upload(const void* host);
    void download(void* host) const;

    // False when something wrote to a guard since fill().
    bool guards_intact() const;

  private:
    void free() noexcept;
    void set(std::size_t begin, std::size_t bytes, unsigned char byte);
    void copy_out(std::size_t begin, std::size_t bytes, void* host) const;

    DevicePlace place_;
    unsigned char* memory_ = nullptr;  // of a GPU
    HostBuffer host_;
    std::size_t capacity_ = 0;  // without the guards
    std::size_t bytes_ = 0;
    std::size_t offset_ = 0;
};

}  // namespace msda
