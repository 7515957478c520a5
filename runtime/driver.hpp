// The CUDA driver as a table of function pointers: opened at run time, never linked, filled with fakes by tests.
// Types come from cuda.h, names are the driver API's own.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <utility>

#include "msda/error.hpp"
#include "runtime/library_loader.hpp"

namespace msda {

// One function of the table: callable like the function itself, and it knows its name for messages.
template <class... Arguments>
struct DriverCall {
    const char* name;
    CUresult(CUDAAPI* function)(Arguments...) = nullptr;

    CUresult operator()(Arguments... arguments) const { return function(arguments...); }
    explicit operator bool() const noexcept { return function != nullptr; }
};

// X(member, exported symbol, argument types…). The symbols are the versioned ones of CUDA 12.0, which every later
// driver keeps.
#define MSDA_DRIVER_FUNCTIONS(X)                                                                                      \
    X(init, "cuInit", unsigned)                                                                                       \
    X(driver_get_version, "cuDriverGetVersion", int*)                                                                 \
    X(get_error_name, "cuGetErrorName", CUresult, const char**)                                                       \
    X(get_error_string, "cuGetErrorString", CUresult, const char**)                                                   \
    X(device_get_count, "cuDeviceGetCount", int*)                                                                     \
    X(device_get, "cuDeviceGet", CUdevice*, int)                                                                      \
    X(device_get_name, "cuDeviceGetName", char*, int, CUdevice)                                                       \
    X(device_get_attribute, "cuDeviceGetAttribute", int*, CUdevice_attribute, CUdevice)                               \
    X(device_total_mem, "cuDeviceTotalMem_v2", std::size_t*, CUdevice)                                                \
    X(device_primary_ctx_retain, "cuDevicePrimaryCtxRetain", CUcontext*, CUdevice)                                    \
    X(device_primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", CUdevice)                                           \
    X(device_primary_ctx_get_state, "cuDevicePrimaryCtxGetState", CUdevice, unsigned*, int*)                          \
    X(ctx_get_current, "cuCtxGetCurrent", CUcontext*)                                                                 \
    X(ctx_push_current, "cuCtxPushCurrent_v2", CUcontext)                                                             \
    X(ctx_pop_current, "cuCtxPopCurrent_v2", CUcontext*)                                                              \
    X(ctx_get_device, "cuCtxGetDevice", CUdevice*)                                                                    \
    X(ctx_get_id, "cuCtxGetId", CUcontext, unsigned long long*)                                                       \
    X(ctx_synchronize, "cuCtxSynchronize")                                                                            \
    X(module_load_data_ex, "cuModuleLoadDataEx", CUmodule*, const void*, unsigned, CUjit_option*, void**)             \
    X(module_unload, "cuModuleUnload", CUmodule)                                                                      \
    X(module_get_function, "cuModuleGetFunction", CUfunction*, CUmodule, const char*)                                 \
    X(func_get_attribute, "cuFuncGetAttribute", int*, CUfunction_attribute, CUfunction)                               \
    X(func_set_attribute, "cuFuncSetAttribute", CUfunction, CUfunction_attribute, int)                                \
    X(occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int*, CUfunction, int, std::size_t) \
    X(launch_kernel, "cuLaunchKernel", CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
      unsigned, CUstream, void**, void**)                                                                             \
    X(memset_d8_async, "cuMemsetD8Async", CUdeviceptr, unsigned char, std::size_t, CUstream)                          \
    X(memset_d16_async, "cuMemsetD16Async", CUdeviceptr, unsigned short, std::size_t, CUstream)                       \
    X(memset_d32_async, "cuMemsetD32Async", CUdeviceptr, unsigned, std::size_t, CUstream)                             \
    X(mem_alloc, "cuMemAlloc_v2", CUdeviceptr*, std::size_t)                                                          \
    X(mem_free, "cuMemFree_v2", CUdeviceptr)                                                                          \
    X(mem_get_info, "cuMemGetInfo_v2", std::size_t*, std::size_t*)                                                    \
    X(mem_host_alloc, "cuMemHostAlloc", void**, std::size_t, unsigned)                                                \
    X(mem_free_host, "cuMemFreeHost", void*)                                                                          \
    X(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2", CUdeviceptr*, void*, unsigned)                     \
    X(memcpy_htod, "cuMemcpyHtoD_v2", CUdeviceptr, const void*, std::size_t)                                          \
    X(memcpy_dtoh, "cuMemcpyDtoH_v2", void*, CUdeviceptr, std::size_t)                                                \
    X(memcpy_htod_async, "cuMemcpyHtoDAsync_v2", CUdeviceptr, const void*, std::size_t, CUstream)                     \
    X(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", void*, CUdeviceptr, std::size_t, CUstream)                           \
    X(memcpy_dtod_async, "cuMemcpyDtoDAsync_v2", CUdeviceptr, CUdeviceptr, std::size_t, CUstream)                     \
    X(stream_create, "cuStreamCreate", CUstream*, unsigned)                                                           \
    X(stream_destroy, "cuStreamDestroy_v2", CUstream)                                                                 \
    X(stream_synchronize, "cuStreamSynchronize", CUstream)                                                            \
    X(stream_query, "cuStreamQuery", CUstream)                                                                        \
    X(stream_wait_event, "cuStreamWaitEvent", CUstream, CUevent, unsigned)                                            \
    X(stream_get_id, "cuStreamGetId", CUstream, unsigned long long*)                                                  \
    X(stream_is_capturing, "cuStreamIsCapturing", CUstream, CUstreamCaptureStatus*)                                   \
    X(stream_begin_capture, "cuStreamBeginCapture_v2", CUstream, CUstreamCaptureMode)                                 \
    X(stream_end_capture, "cuStreamEndCapture", CUstream, CUgraph*)                                                   \
    X(stream_wait_value32, "cuStreamWaitValue32_v2", CUstream, CUdeviceptr, cuuint32_t, unsigned)                     \
    X(thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode", CUstreamCaptureMode*)                 \
    X(event_create, "cuEventCreate", CUevent*, unsigned)                                                              \
    X(event_destroy, "cuEventDestroy_v2", CUevent)                                                                    \
    X(event_record, "cuEventRecord", CUevent, CUstream)                                                               \
    X(event_query, "cuEventQuery", CUevent)                                                                           \
    X(event_synchronize, "cuEventSynchronize", CUevent)                                                               \
    X(event_elapsed_time, "cuEventElapsedTime", float*, CUevent, CUevent)                                             \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", CUgraphExec*, CUgraph, unsigned long long)                    \
    X(graph_launch, "cuGraphLaunch", CUgraphExec, CUstream)                                                           \
    X(graph_destroy, "cuGraphDestroy", CUgraph)                                                                       \
    X(graph_exec_destroy, "cuGraphExecDestroy", CUgraphExec)

// Functions younger than CUDA 12.0: null where the driver lacks them.
#define MSDA_DRIVER_OPTIONAL_FUNCTIONS(X) X(func_load, "cuFuncLoad", CUfunction)

// The driver. A table filled by hand (in tests) needs no library.
struct Driver {
#define MSDA_DRIVER_MEMBER(member, symbol, ...) DriverCall<__VA_ARGS__> member{symbol, nullptr};
    MSDA_DRIVER_FUNCTIONS(MSDA_DRIVER_MEMBER)
    MSDA_DRIVER_OPTIONAL_FUNCTIONS(MSDA_DRIVER_MEMBER)
#undef MSDA_DRIVER_MEMBER

    int version = 0;                // 1000·major + 10·minor, what cuDriverGetVersion said
    std::string path;               // of the library, empty for a fake
    std::shared_ptr<void> library;  // keeps it open

    // Calls a function of this table and throws Error(driver_failed), or out_of_memory, with its name and the driver's
    // reason.
    template <class... Parameters, class... Arguments>
    void check(const DriverCall<Parameters...>& call, Arguments&&... arguments) const {
        if (const CUresult result = call(std::forward<Arguments>(arguments)...); result != CUDA_SUCCESS) [[unlikely]]
            fail(call.name, result);
    }

    // Throws what check() throws.
    [[noreturn]] void fail(const char* call, CUresult result) const;

    // "CUDA_ERROR_INVALID_VALUE (invalid argument)".
    std::string describe(CUresult result) const;
};

// Opens libcuda, fills the table and calls cuInit. `path` empty: the usual places. Each path tried goes to `attempts`.
// Throws Error(no_driver) that lists them.
std::shared_ptr<const Driver> load_driver(const LibraryLoader& loader, const std::string& path, Attempts& attempts);

// Calls cuInit and reads the version on a table that is filled. Throws Error(no_driver) without a device or below
// CUDA 12.0.
void start_driver(Driver& driver);

// True once exit() runs, when no driver may be called any more, or in a child process forked after start_driver().
bool driver_is_gone() noexcept;

// Counts the forks that led to this process since the driver started; an object made under another count must not touch
// the driver.
unsigned fork_generation() noexcept;

// Throws Error(driver_failed) that names the remedy when this process was forked after `generation`.
void check_not_forked(unsigned generation);

}  // namespace msda
