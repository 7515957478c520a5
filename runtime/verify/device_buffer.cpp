// cuMemAlloc and aligned host memory with guards on both sides.
#include "runtime/verify/device_buffer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/current_context.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

constexpr std::size_t guard = 256;
constexpr unsigned char guard_byte = 0xa5;

// Linux hands out more memory than there is and kills the process later; better to refuse at once.
void check_host_memory(std::size_t bytes) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return;
    const std::size_t there = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
    if (bytes > there)
        throw Error(Code::out_of_memory,
                    fmt::format("host memory: expected a tensor of at most {} bytes, got {}", there, bytes));
}

}  // namespace

DevicePlace DevicePlace::of(Runtime& runtime, Device device) {
    if (device.kind != Device::Kind::gpu) return {device, nullptr};
    return {device, runtime.state().context_for(device.ordinal)};
}

void DevicePlace::wait(Stream stream) const {
    if (context == nullptr) return;
    const Driver& driver = context->driver();
    const CurrentContext current(driver, context->handle());
    driver.check(driver.stream_synchronize, static_cast<CUstream>(stream));
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    if (this == &other) return *this;
    free();
    place_ = std::move(other.place_);
    memory_ = std::exchange(other.memory_, nullptr);
    host_ = std::move(other.host_);
    capacity_ = std::exchange(other.capacity_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    offset_ = std::exchange(other.offset_, 0);
    return *this;
}

void DeviceBuffer::free() noexcept {
    if (memory_ == nullptr) return;
    const Driver& driver = place_.context->driver();
    CUcontext popped = nullptr;
    if (driver.ctx_push_current(place_.context->handle()) == CUDA_SUCCESS) {
        driver.mem_free(reinterpret_cast<CUdeviceptr>(memory_));
        driver.ctx_pop_current(&popped);
    }
    memory_ = nullptr;
}

void DeviceBuffer::resize(std::size_t bytes, std::size_t offset) {
    bytes_ = bytes;
    offset_ = offset;
    if (bytes == 0 || bytes + offset <= capacity_) return;
    free();
    capacity_ = 0;
    const std::size_t whole = bytes + offset + 2 * guard;
    if (place_.context == nullptr) {
        check_host_memory(whole);
        host_ = HostBuffer(whole);
    } else {
        const Driver& driver = place_.context->driver();
        const CurrentContext current(driver, place_.context->handle());
        CUdeviceptr address = 0;
        driver.check(driver.mem_alloc, &address, whole);
        memory_ = reinterpret_cast<unsigned char*>(address);
    }
    capacity_ = bytes + offset;
}

void* DeviceBuffer::data() const noexcept {
    if (bytes_ == 0) return nullptr;
    unsigned char* base = memory_ != nullptr ? memory_ : static_cast<unsigned char*>(host_.data());
    return base + guard + offset_;
}

void DeviceBuffer::set(std::size_t begin, std::size_t bytes, unsigned char byte) {
    if (place_.context == nullptr) {
        std::memset(static_cast<unsigned char*>(host_.data()) + begin, byte, bytes);
        return;
    }
    const Driver& driver = place_.context->driver();
    driver.check(driver.memset_d8_async, reinterpret_cast<CUdeviceptr>(memory_) + begin, byte, bytes, nullptr);
}

void DeviceBuffer::fill(unsigned char byte) {
    if (bytes_ == 0) return;
    std::unique_ptr<CurrentContext> current;
    if (place_.context != nullptr)
        current = std::make_unique<CurrentContext>(place_.context->driver(), place_.context->handle());
    set(0, guard + offset_, guard_byte);
    set(guard + offset_, bytes_, byte);
    set(guard + offset_ + bytes_, guard, guard_byte);
}

void DeviceBuffer::upload(const void* host) {
    if (bytes_ == 0) return;
    if (place_.context == nullptr) {
        std::memcpy(data(), host, bytes_);
        return;
    }
    const Driver& driver = place_.context->driver();
    const CurrentContext current(driver, place_.context->handle());
    driver.check(driver.memcpy_htod, reinterpret_cast<CUdeviceptr>(data()), host, bytes_);
}

void DeviceBuffer::copy_out(std::size_t begin, std::size_t bytes, void* host) const {
    if (place_.context == nullptr) {
        std::memcpy(host, static_cast<const unsigned char*>(host_.data()) + begin, bytes);
        return;
    }
    const Driver& driver = place_.context->driver();
    const CurrentContext current(driver, place_.context->handle());
    driver.check(driver.memcpy_dtoh, host, reinterpret_cast<CUdeviceptr>(memory_) + begin, bytes);
}

void DeviceBuffer::download(void* host) const {
    if (bytes_ != 0) copy_out(guard + offset_, bytes_, host);
}

bool DeviceBuffer::guards_intact() const {
    if (bytes_ == 0) return true;
    std::array<unsigned char, guard> before{}, after{};
    copy_out(offset_, guard, before.data());
    copy_out(guard + offset_ + bytes_, guard, after.data());
    const auto intact = [](unsigned char byte) { return byte == guard_byte; };
    return std::ranges::all_of(before, intact) && std::ranges::all_of(after, intact);
}

}  // namespace msda
