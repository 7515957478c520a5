// Where an example runs: on GPU 0 where there is one, else on the host; and arrays that live there.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda.h"
#include <msda/msda.hpp>

namespace example {

class Place {
  public:
    // `wish` "cpu": the host, even where there is a GPU.
    explicit Place(std::string_view wish = {}) {
        auto opened = std::make_unique<cuda>();
        if (wish != "cpu" && cuda_open(opened.get()) != 0) driver_ = std::move(opened);
    }
    // Null on the host.
    const cuda* driver() const { return driver_.get(); }
    msda::Device device() const { return driver_ ? msda::Device::gpu(0) : msda::Device::cpu(); }
    const char* name() const { return driver_ ? "gpu 0" : "cpu"; }
    // To be called by each thread that launches. (Not needed for msda, which brings its own context along, but for the driver calls below.)
    void enter() const {
        if (driver_) CUDA_MUST(driver_->set_context(driver_->context));
    }

  private:
    std::unique_ptr<cuda> driver_;
};

// A stream of the GPU; null on the host, where launches are done when they return.
class Stream {
  public:
    explicit Stream(const Place& place) : driver_(place.driver()) {
        if (driver_ != nullptr) CUDA_MUST(driver_->stream_create(&stream_, 1 /* CU_STREAM_NON_BLOCKING */));
    }
    ~Stream() {
        if (driver_ != nullptr) driver_->stream_destroy(stream_);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    msda::Stream get() const { return stream_; }
    void wait() const {
        if (driver_ != nullptr) CUDA_MUST(driver_->stream_wait(stream_));
    }

  private:
    const cuda* driver_;
    void* stream_ = nullptr;
};

// Floats in the memory of a place.
class Array {
  public:
    Array(const Place& place, std::size_t count) : driver_(place.driver()), host_(driver_ ? 0 : count), count_(count) {
        if (driver_ != nullptr && count > 0) CUDA_MUST(driver_->allocate(&address_, bytes()));
    }
    Array(const Place& place, const std::vector<float>& values) : Array(place, values.size()) { write(values); }
    ~Array() {
        if (driver_ != nullptr && count_ > 0) driver_->release(address_);
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    void* get() { return driver_ ? reinterpret_cast<void*>(address_) : host_.data(); }
    // Both wait until the copy is done; neither waits for launches on a stream. (A copy from pageable memory may return before its last bytes have
    // arrived, and a stream made by Stream does not wait for them by itself.)
    void write(const std::vector<float>& values) {
        if (driver_ == nullptr) {
            host_ = values;
        } else if (count_ > 0) {
            CUDA_MUST(driver_->to_device(address_, values.data(), bytes()));
            CUDA_MUST(driver_->stream_wait(nullptr));
        }
    }
    std::vector<float> read() const {
        std::vector<float> values(count_);
        if (driver_ == nullptr) return host_;
        if (count_ > 0) CUDA_MUST(driver_->to_host(values.data(), address_, bytes()));
        return values;
    }

  private:
    std::size_t bytes() const { return count_ * sizeof(float); }

    const cuda* driver_;
    std::vector<float> host_;
    cuda_address address_ = 0;
    std::size_t count_;
};

}  // namespace example
