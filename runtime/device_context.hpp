// A CUDA context that kernels are loaded into, and the modules that left use but may still run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device_info.hpp"

namespace msda {

// The streams that a module's kernels went to, so that it is unloaded only after its last launch has finished.
// Thread-safe, no lock.
class LaunchLog {
  public:
    static constexpr std::size_t capacity = 8;

    // Called before each launch.
    void note(const Driver& driver, CUstream stream) noexcept {
        if (stream == first_.load(std::memory_order_relaxed)) [[likely]]
            return;
        if (!forever_.load(std::memory_order_relaxed)) note_slowly(driver, stream);
    }

    // The module may be part of a graph, which can be launched at any time: it must stay.
    void keep_forever() noexcept { forever_.store(true, std::memory_order_relaxed); }
    bool kept_forever() const noexcept { return forever_.load(std::memory_order_relaxed); }

    // Ids of the streams (cuStreamGetId: unlike handles they are not used again). `known` is false where they could not
    // all be told.
    std::vector<std::uint64_t> streams(bool& known) const;

  private:
    void note_slowly(const Driver& driver, CUstream stream) noexcept;

    std::atomic<CUstream> first_{reinterpret_cast<CUstream>(~std::uintptr_t{0})};  // no stream; null is one
    std::atomic<bool> forever_{false};
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> ids_;
    bool unknown_ = false;
};

// One context of one device. Shared by the runtime and by everything loaded into it; the last to go unloads what is
// left.
class DeviceContext {
  public:
    // Takes over a context; `primary`: this object holds one reference of the device's primary context and gives it
    // back.
    DeviceContext(std::shared_ptr<const Driver> driver, DeviceInfo device, CUcontext context, bool primary);
    ~DeviceContext();
    DeviceContext(const DeviceContext&) = delete;
    DeviceContext& operator=(const DeviceContext&) = delete;

    const Driver& driver() const noexcept { return *driver_; }
    const DeviceInfo& device() const noexcept { return device_; }
    CUcontext handle() const noexcept { return context_; }
    bool primary() const noexcept { return primary_; }
    unsigned generation() const noexcept { return generation_; }

    // False when the context was destroyed and its handle given to another one.
    bool alive() const noexcept;

    // Takes a module out of use: unloads it at once if it never ran, never if a graph may hold it, else once collect()
    // finds its launches finished.
    void retire(CUmodule module, const LaunchLog& log) noexcept;

    // Modules that wait for the end of their launches.
    std::size_t retired() const noexcept { return waiting_.load(std::memory_order_relaxed); }
    bool has_retired() const noexcept { return retired() != 0; }

    // Marks the point on `stream`, where the caller has just launched, after which retired modules that ran there are
    // done. A stream's handle is only ever used by whoever passes it in: one kept from before might be destroyed.
    void mark(CUstream stream) noexcept;

    // Unloads the retired modules whose launches have finished. The context must be current. Waits for nothing.
    void collect() noexcept;

  private:
    struct Retired {
        CUmodule module = nullptr;
        std::vector<std::uint64_t> unmarked;              // streams without an event yet
        std::vector<std::shared_ptr<CUevent_st>> events;  // all reached: no launch is left
        bool known = true;
    };
    bool usable() const noexcept;
    bool finished(const Retired& retired) const noexcept;
    std::shared_ptr<CUevent_st> record(CUstream stream) noexcept;
    void unload_all() noexcept;

    std::shared_ptr<const Driver> driver_;
    DeviceInfo device_;
    CUcontext context_ = nullptr;
    bool primary_ = false;
    unsigned long long id_ = 0;
    unsigned generation_ = 0;
    std::mutex mutex_;
    std::vector<Retired> retired_;
    std::atomic<std::size_t> waiting_{0};
};

}  // namespace msda
