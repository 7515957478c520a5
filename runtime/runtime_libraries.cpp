// The driver, the compiler and the contexts of a Runtime, each found at its first use.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/current_context.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

// "12090 75 80 86": what a process remembers of an NVRTC for the next.
std::string text_of(const NvrtcInfo& info) {
    std::string text = fmt::format("{}", info.version);
    for (const int architecture : info.architectures) text += fmt::format(" {}", architecture);
    return text;
}

std::optional<NvrtcInfo> parse_info(std::string_view text) {
    std::vector<int> numbers;
    while (!text.empty()) {
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{}) return std::nullopt;
        numbers.push_back(number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.starts_with(' ')) text.remove_prefix(1);
    }
    if (numbers.size() < 2) return std::nullopt;
    return NvrtcInfo{numbers.front(), {numbers.begin() + 1, numbers.end()}};
}

// Holds a reference of a device's primary context until it is handed over.
class PrimaryReference {
  public:
    PrimaryReference(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {
        driver.check(driver.device_primary_ctx_retain, &handle_, device);
    }
    ~PrimaryReference() {
        if (held_) driver_.device_primary_ctx_release(device_);
    }
    PrimaryReference(const PrimaryReference&) = delete;
    PrimaryReference& operator=(const PrimaryReference&) = delete;

    CUcontext handle() const { return handle_; }
    void hand_over() { held_ = false; }

  private:
    const Driver& driver_;
    CUdevice device_;
    CUcontext handle_ = nullptr;
    bool held_ = true;
};

// Makes a DeviceContext of the device's primary context.
std::shared_ptr<DeviceContext> take_primary(const std::shared_ptr<const Driver>& driver, const DeviceInfo& device,
                                            PrimaryReference& reference) {
    reference.hand_over();  // the constructor gives it back when it throws
    return std::make_shared<DeviceContext>(driver, device, reference.handle(), true);
}

// Of a context that the caller has made current. Asks first whether the primary context exists, since retaining would
// create it.
std::shared_ptr<DeviceContext> take_current(const std::shared_ptr<const Driver>& driver, const DeviceInfo& device,
                                            CUcontext current) {
    unsigned flags = 0;
    int active = 0;
    driver->check(driver->device_primary_ctx_get_state, device.handle, &flags, &active);
    if (active != 0) {
        PrimaryReference reference(*driver, device.handle);
        if (reference.handle() == current) return take_primary(driver, device, reference);
    }
    return std::make_shared<DeviceContext>(driver, device, current, false);
}

}  // namespace

std::shared_ptr<const Driver> Runtime::State::driver() {
    const std::lock_guard lock(mutex_);
    if (driver_ == nullptr) {
        driver_attempts_.clear();
        driver_ = load_driver(loader, options.driver_library, driver_attempts_);
        generation_ = fork_generation();
    }
    check_not_forked(generation_);
    return driver_;
}

void Runtime::State::use_driver(std::shared_ptr<const Driver> driver) {
    const std::lock_guard lock(mutex_);
    driver_ = std::move(driver);
    generation_ = fork_generation();
}

NvrtcMemory Runtime::State::nvrtc_memory() {
    NvrtcMemory memory;
    memory.recall = [this](const std::string& identity) -> std::optional<NvrtcInfo> {
        const auto text = cache.load(identity);
        return text ? parse_info(*text) : std::nullopt;
    };
    memory.remember = [this](const std::string& identity, const NvrtcInfo& info) {
        cache.store_along(identity, text_of(info));
    };
    return memory;
}

std::shared_ptr<const NvrtcLibrary> Runtime::State::nvrtc(int driver_version) {
    const std::lock_guard lock(nvrtc_mutex_);
    if (nvrtc_ == nullptr || !why_not_usable(nvrtc_->info(), driver_version).empty()) {
        nvrtc_attempts_.clear();
        nvrtc_ = nullptr;
        nvrtc_ = find_nvrtc({options.nvrtc_library, driver_version}, loader, files, nvrtc_memory(), nvrtc_attempts_);
    }
    return nvrtc_;
}

void Runtime::State::use_nvrtc(std::shared_ptr<const NvrtcLibrary> nvrtc) {
    const std::lock_guard lock(nvrtc_mutex_);
    nvrtc_ = std::move(nvrtc);
}

// Called with the lock held. A context that was destroyed since is forgotten, with what was loaded into it.
std::shared_ptr<DeviceContext> Runtime::State::known_context(CUcontext handle) {
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [&](const auto& context) { return context->handle() == handle; });
    if (found == contexts_.end()) return nullptr;
    if ((*found)->alive()) return *found;
    const std::shared_ptr<DeviceContext> dead = *found;
    contexts_.erase(found);
    operators_.erase_if([&](const OperatorKey& key) { return key.context == dead.get(); });
    tiers_.forget(*dead);
    return nullptr;
}

// Called with the lock held.
std::shared_ptr<DeviceContext> Runtime::State::known_primary(int ordinal) {
    const auto found = std::find_if(contexts_.begin(), contexts_.end(), [&](const auto& context) {
        return context->primary() && context->device().ordinal == ordinal;
    });
    return found == contexts_.end() ? nullptr : known_context((*found)->handle());
}

int Runtime::State::ordinal_of(Device gpu) {
    if (gpu != Device::current()) return gpu.ordinal;
    const auto calls = driver();
    CUcontext current = nullptr;
    calls->check(calls->ctx_get_current, &current);
    if (current == nullptr)
        throw Error(Code::invalid_argument, "device: expected a CUDA context current on this thread, got none");
    CUdevice wanted = 0;
    calls->check(calls->ctx_get_device, &wanted);
    int count = 0;
    calls->check(calls->device_get_count, &count);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        CUdevice device = 0;
        calls->check(calls->device_get, &device, ordinal);
        if (device == wanted) return ordinal;
    }
    throw Error(Code::invalid_argument, "device: the driver does not list the device of the current CUDA context");
}

std::shared_ptr<DeviceContext> Runtime::State::context_for(int ordinal) {
    const auto opened = driver();
    const Driver& calls = *opened;
    CUcontext current = nullptr;
    calls.check(calls.ctx_get_current, &current);
    const std::lock_guard lock(mutex_);
    if (current != nullptr)
        if (auto known = known_context(current); known != nullptr && known->device().ordinal == ordinal) return known;
    auto primary = known_primary(ordinal);
    if (primary != nullptr && current == nullptr) return primary;
    const DeviceInfo device = primary != nullptr ? primary->device() : device_info(calls, ordinal);
    CUdevice current_device = -1;
    if (current != nullptr) calls.check(calls.ctx_get_device, &current_device);
    if (current_device == device.handle) return contexts_.emplace_back(take_current(opened, device, current));
    if (primary != nullptr) return primary;
    PrimaryReference reference(calls, device.handle);
    if (auto known = known_context(reference.handle())) return known;
    return contexts_.emplace_back(take_primary(opened, device, reference));
}

Attempts Runtime::State::driver_attempts() {
    const std::lock_guard lock(mutex_);
    return driver_attempts_;
}

Attempts Runtime::State::nvrtc_attempts() {
    const std::lock_guard lock(nvrtc_mutex_);
    return nvrtc_attempts_;
}

}  // namespace msda
