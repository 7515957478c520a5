#include "runtime/device_context.hpp"

#include <algorithm>
#include <utility>

#include "runtime/current_context.hpp"

namespace msda {

std::vector<std::uint64_t> LaunchLog::streams(bool& known) const {
    const std::lock_guard lock(mutex_);
    known = !unknown_;
    return ids_;
}

void LaunchLog::note_slowly(const Driver& driver, CUstream stream) noexcept {
    const std::lock_guard lock(mutex_);
    unsigned long long id = 0;
    // The per-thread default stream is another one in each thread, behind one handle.
    if (unknown_ || stream == CU_STREAM_PER_THREAD || driver.stream_get_id(stream, &id) != CUDA_SUCCESS) {
        unknown_ = true;
        return;
    }
    if (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) return;
    if (ids_.size() == capacity) {
        unknown_ = true;
        return;
    }
    try {
        ids_.push_back(id);
    } catch (...) {
        unknown_ = true;
        return;
    }
    if (ids_.size() == 1) first_.store(stream, std::memory_order_relaxed);
}

DeviceContext::DeviceContext(std::shared_ptr<const Driver> driver, DeviceInfo device, CUcontext context, bool primary)
    : driver_(std::move(driver)),
      device_(std::move(device)),
      context_(context),
      primary_(primary),
      generation_(fork_generation()) {
    const CUresult result = driver_->ctx_get_id(context_, &id_);
    if (result == CUDA_SUCCESS) return;
    if (primary_) driver_->device_primary_ctx_release(device_.handle);
    driver_->fail(driver_->ctx_get_id.name, result);
}

DeviceContext::~DeviceContext() {
    if (!usable()) return;
    if (primary_ || alive()) unload_all();
    if (primary_) driver_->device_primary_ctx_release(device_.handle);
}

bool DeviceContext::usable() const noexcept { return !driver_is_gone() && generation_ == fork_generation(); }

bool DeviceContext::alive() const noexcept {
    unsigned long long id = 0;
    return driver_->ctx_get_id(context_, &id) == CUDA_SUCCESS && id == id_;
}

void DeviceContext::retire(CUmodule module, const LaunchLog& log) noexcept {
    if (log.kept_forever() || !usable()) return;
    try {
        Retired retired{module, {}, {}, true};
        retired.unmarked = log.streams(retired.known);
        const std::lock_guard lock(mutex_);
        retired_.push_back(std::move(retired));
        waiting_.store(retired_.size(), std::memory_order_relaxed);
    } catch (...) {
        return;  // no memory to remember it: it stays loaded
    }
    if (!alive()) return;
    try {
        const CurrentContext current(*driver_, context_);
        collect();
    } catch (const Error&) {  // its turn comes later
    }
}

std::shared_ptr<CUevent_st> DeviceContext::record(CUstream stream) noexcept {
    CUevent event = nullptr;
    if (driver_->event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return nullptr;
    try {
        const auto driver = driver_;
        std::shared_ptr<CUevent_st> owned(event, [driver](CUevent e) {
            if (!driver_is_gone()) driver->event_destroy(e);
        });
        return driver_->event_record(event, stream) == CUDA_SUCCESS ? owned : nullptr;
    } catch (...) {
        return nullptr;  // shared_ptr has destroyed the event
    }
}

void DeviceContext::mark(CUstream stream) noexcept {
    unsigned long long id = 0;
    const RelaxedCapture relaxed(*driver_);
    if (is_capturing(*driver_, stream) || driver_->stream_get_id(stream, &id) != CUDA_SUCCESS) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;  // the next launch will do
    std::shared_ptr<CUevent_st> event;
    for (Retired& retired : retired_) {
        const auto found = std::find(retired.unmarked.begin(), retired.unmarked.end(), id);
        if (found == retired.unmarked.end()) continue;
        if (event == nullptr && (event = record(stream)) == nullptr) return;
        try {
            retired.events.push_back(event);
        } catch (...) {
            return;
        }
        retired.unmarked.erase(found);
    }
}

bool DeviceContext::finished(const Retired& retired) const noexcept {
    return retired.known && retired.unmarked.empty() &&
           std::all_of(retired.events.begin(), retired.events.end(),
                       [&](const auto& event) { return driver_->event_query(event.get()) == CUDA_SUCCESS; });
}

void DeviceContext::collect() noexcept {
    const RelaxedCapture relaxed(*driver_);
    const std::lock_guard lock(mutex_);
    std::erase_if(retired_, [&](const Retired& retired) {
        if (!finished(retired)) return false;
        driver_->module_unload(retired.module);
        return true;
    });
    waiting_.store(retired_.size(), std::memory_order_relaxed);
}

// Nothing of this context can be launched any more, so waiting for it ends all launches. Where waiting is not possible
// (somebody captures a stream of this context) the modules stay loaded.
void DeviceContext::unload_all() noexcept {
    if (retired_.empty()) return;
    try {
        const CurrentContext current(*driver_, context_);
        const RelaxedCapture relaxed(*driver_);
        const CUresult result = driver_->ctx_synchronize();
        if (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_CAPTURED_EVENT) return;
        for (const Retired& retired : retired_) driver_->module_unload(retired.module);
        retired_.clear();
    } catch (const Error&) {  // the context is gone, and its modules with it
    }
}

}  // namespace msda
