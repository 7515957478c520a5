// cuStreamWaitValue32 on pinned host memory.
#include "runtime/measure/blocker.hpp"

#include "runtime/current_context.hpp"

namespace msda {

Blocker::Blocker(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    void* memory = nullptr;
    driver.check(driver.mem_host_alloc, &memory, sizeof(unsigned), static_cast<unsigned>(CU_MEMHOSTALLOC_DEVICEMAP));
    word_ = static_cast<volatile unsigned*>(memory);
    *word_ = 0;
    const CUresult result = driver.mem_host_get_device_pointer(&address_, memory, 0u);
    if (result == CUDA_SUCCESS) return;
    driver.mem_free_host(memory);
    driver.fail(driver.mem_host_get_device_pointer.name, result);
}

Blocker::~Blocker() {
    release();
    CUcontext popped = nullptr;
    const Driver& driver = context_->driver();
    if (driver.ctx_push_current(context_->handle()) != CUDA_SUCCESS) return;
    driver.mem_free_host(const_cast<unsigned*>(word_));
    driver.ctx_pop_current(&popped);
}

void Blocker::block(const DeviceStream& stream) {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.stream_wait_value32, stream.handle(), address_, ++ticket_,
                 static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ));
}

void Blocker::release() noexcept { *word_ = ticket_; }

}  // namespace msda
