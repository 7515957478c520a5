// Memory of the fake driver: allocations are host memory, copies and memsets of bytes are real.
#include <cstring>

#include "tests/fakes/fake_driver_state.hpp"

namespace msda::fakes {
namespace {

CUresult enqueue_memset(FakeDriver::State& s, CUdeviceptr address, std::size_t bytes, CUstream stream) {
    FakeLaunch launch;
    launch.stream = stream;
    launch.address = address;
    launch.bytes = bytes;
    return s.enqueue(launch, nullptr);
}

// True when the bytes lie in one of the fake's allocations, so that they may be touched.
bool owned(const FakeDriver::State& s, CUdeviceptr address, std::size_t bytes) {
    auto after = s.memory.upper_bound(address);
    if (after == s.memory.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second.size();
}

void fill_allocations(Driver& d) {
    d.mem_alloc.function = [](CUdeviceptr* address, std::size_t bytes) -> CUresult {
        MSDA_FAKE("cuMemAlloc");
        if (const CUresult result = s.unsafe(); result != CUDA_SUCCESS) return result;
        if (s.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
        std::vector<char> memory(bytes + 256);
        *address = (reinterpret_cast<CUdeviceptr>(memory.data()) + 255) / 256 * 256;
        s.memory[*address] = std::move(memory);
        return CUDA_SUCCESS;
    };
    d.mem_free.function = [](CUdeviceptr address) -> CUresult {
        MSDA_FAKE("cuMemFree");
        if (s.memory.erase(address) == 1) return CUDA_SUCCESS;
        s.violations.emplace_back("free of memory that is not allocated");
        return CUDA_ERROR_INVALID_VALUE;
    };
    d.mem_get_info.function = [](std::size_t* free_bytes, std::size_t* total) -> CUresult {
        MSDA_FAKE("cuMemGetInfo");
        *free_bytes = *total = s.devices.at(0).memory_bytes;
        return CUDA_SUCCESS;
    };
    d.mem_host_alloc.function = [](void** address, std::size_t bytes, unsigned) -> CUresult {
        MSDA_FAKE("cuMemHostAlloc");
        std::vector<char> memory(bytes);
        *address = memory.data();
        s.host_memory[*address] = std::move(memory);
        return CUDA_SUCCESS;
    };
    d.mem_free_host.function = [](void* address) -> CUresult {
        MSDA_FAKE("cuMemFreeHost");
        return s.host_memory.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    d.mem_host_get_device_pointer.function = [](CUdeviceptr* address, void* host, unsigned) -> CUresult {
        MSDA_FAKE("cuMemHostGetDevicePointer");
        *address = reinterpret_cast<CUdeviceptr>(host);
        return CUDA_SUCCESS;
    };
}

void fill_copies(Driver& d) {
    d.memset_d8_async.function = [](CUdeviceptr address, unsigned char value, std::size_t count,
                                    CUstream stream) -> CUresult {
        MSDA_FAKE("cuMemsetD8Async");
        if (owned(s, address, count)) std::memset(reinterpret_cast<void*>(address), value, count);
        return enqueue_memset(s, address, count, stream);
    };
    d.memset_d16_async.function = [](CUdeviceptr address, unsigned short, std::size_t count,
                                     CUstream stream) -> CUresult {
        MSDA_FAKE("cuMemsetD16Async");
        if (address % 2 != 0) return CUDA_ERROR_INVALID_VALUE;
        return enqueue_memset(s, address, 2 * count, stream);
    };
    d.memset_d32_async.function = [](CUdeviceptr address, unsigned, std::size_t count, CUstream stream) -> CUresult {
        MSDA_FAKE("cuMemsetD32Async");
        if (address % 4 != 0) return CUDA_ERROR_INVALID_VALUE;
        return enqueue_memset(s, address, 4 * count, stream);
    };
    d.memcpy_htod.function = [](CUdeviceptr to, const void* from, std::size_t bytes) -> CUresult {
        MSDA_FAKE("cuMemcpyHtoD");
        if (!owned(s, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
        return CUDA_SUCCESS;
    };
    d.memcpy_dtoh.function = [](void* to, CUdeviceptr from, std::size_t bytes) -> CUresult {
        MSDA_FAKE("cuMemcpyDtoH");
        if (!owned(s, from, bytes)) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return CUDA_SUCCESS;
    };
    d.memcpy_htod_async.function = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) -> CUresult {
        MSDA_FAKE("cuMemcpyHtoDAsync");
        if (!owned(s, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(reinterpret_cast<void*>(to), from, bytes);
        return CUDA_SUCCESS;
    };
    d.memcpy_dtoh_async.function = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) -> CUresult {
        MSDA_FAKE("cuMemcpyDtoHAsync");
        if (!owned(s, from, bytes)) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return CUDA_SUCCESS;
    };
    d.memcpy_dtod_async.function = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) -> CUresult {
        MSDA_FAKE("cuMemcpyDtoDAsync");
        if (!owned(s, from, bytes) || !owned(s, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
        return CUDA_SUCCESS;
    };
}

}  // namespace

void fill_memory(Driver& driver) {
    fill_allocations(driver);
    fill_copies(driver);
}

}  // namespace msda::fakes
