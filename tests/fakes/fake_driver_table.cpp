// The fake driver's functions, grouped as the driver API groups them.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/fakes/fake_driver.hpp"
#include "tests/fakes/fake_driver_state.hpp"

namespace msda::fakes {
namespace {

FakeDriver* active_driver = nullptr;
FakeDriver::State* active = nullptr;

// --- process and devices
void fill_process(Driver& d) {
    d.init.function = [](unsigned) -> CUresult {
        MSDA_FAKE("cuInit");
        s.started = true;
        return s.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
    };
    d.driver_get_version.function = [](int* version) -> CUresult {
        MSDA_FAKE("cuDriverGetVersion");
        *version = s.version;
        return CUDA_SUCCESS;
    };
    d.get_error_name.function = [](CUresult result, const char** text) -> CUresult {
        static const std::map<CUresult, const char*> names = {
            {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
            {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
            {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
            {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
            {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
            {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
            {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"}};
        const auto found = names.find(result);
        *text = found == names.end() ? nullptr : found->second;
        return found == names.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    };
    d.get_error_string.function = [](CUresult, const char** text) -> CUresult {
        *text = "a fake reason";
        return CUDA_SUCCESS;
    };
}

int attribute_of(const Silicon& silicon, CUdevice_attribute attribute) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return silicon.capability / 10;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return silicon.capability % 10;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return silicon.sm_count;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            return static_cast<int>(silicon.l2_bytes);
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            return silicon.bus_width;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            return silicon.shared_per_block;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            return silicon.shared_per_sm;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
            return silicon.registers_per_sm;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return silicon.threads_per_sm;
        default:
            return 0;
    }
}

void fill_devices(Driver& d) {
    d.device_get_count.function = [](int* count) -> CUresult {
        MSDA_FAKE("cuDeviceGetCount");
        *count = static_cast<int>(s.devices.size());
        return CUDA_SUCCESS;
    };
    // Handles differ from ordinals, as they may.
    d.device_get.function = [](CUdevice* device, int ordinal) -> CUresult {
        MSDA_FAKE("cuDeviceGet");
        *device = ordinal + 100;
        return ordinal >= 0 && ordinal < static_cast<int>(s.devices.size()) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    };
    d.device_get_name.function = [](char* name, int size, CUdevice device) -> CUresult {
        MSDA_FAKE("cuDeviceGetName");
        std::strncpy(name, s.devices.at(static_cast<std::size_t>(device - 100)).name.c_str(),
                     static_cast<std::size_t>(size));
        return CUDA_SUCCESS;
    };
    d.device_get_attribute.function = [](int* value, CUdevice_attribute attribute, CUdevice device) -> CUresult {
        MSDA_FAKE("cuDeviceGetAttribute");
        *value = attribute_of(s.devices.at(static_cast<std::size_t>(device - 100)).silicon, attribute);
        return CUDA_SUCCESS;
    };
    d.device_total_mem.function = [](std::size_t* bytes, CUdevice device) -> CUresult {
        MSDA_FAKE("cuDeviceTotalMem");
        *bytes = s.devices.at(static_cast<std::size_t>(device - 100)).memory_bytes;
        return CUDA_SUCCESS;
    };
    d.device_primary_ctx_retain.function = [](CUcontext* context, CUdevice device) -> CUresult {
        MSDA_FAKE("cuDevicePrimaryCtxRetain");
        const auto i = static_cast<std::size_t>(device - 100);
        if (s.primary_references.at(i)++ == 0) s.primary[i] = s.make_context(device - 100);
        *context = s.primary[i];
        return CUDA_SUCCESS;
    };
    d.device_primary_ctx_release.function = [](CUdevice device) -> CUresult {
        MSDA_FAKE("cuDevicePrimaryCtxRelease");
        const auto i = static_cast<std::size_t>(device - 100);
        if (s.primary_references.at(i) == 0) {
            s.violations.emplace_back("primary context released once too often");
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (--s.primary_references[i] == 0) {
            s.contexts.erase(s.primary[i]);
            std::erase_if(s.modules, [&](const auto& module) { return module.second.context == s.primary[i]; });
        }
        return CUDA_SUCCESS;
    };
    d.device_primary_ctx_get_state.function = [](CUdevice device, unsigned* flags, int* active_out) -> CUresult {
        MSDA_FAKE("cuDevicePrimaryCtxGetState");
        *flags = 0;
        *active_out = s.primary_references.at(static_cast<std::size_t>(device - 100)) > 0;
        return CUDA_SUCCESS;
    };
}

// --- contexts
void fill_contexts(Driver& d) {
    d.ctx_get_current.function = [](CUcontext* context) -> CUresult {
        MSDA_FAKE("cuCtxGetCurrent");
        *context = s.current();
        return CUDA_SUCCESS;
    };
    d.ctx_push_current.function = [](CUcontext context) -> CUresult {
        MSDA_FAKE("cuCtxPushCurrent");
        if (!s.contexts.contains(context)) return CUDA_ERROR_INVALID_CONTEXT;
        s.stacks[std::this_thread::get_id()].push_back(context);
        return CUDA_SUCCESS;
    };
    d.ctx_pop_current.function = [](CUcontext* context) -> CUresult {
        MSDA_FAKE("cuCtxPopCurrent");
        auto& stack = s.stacks[std::this_thread::get_id()];
        if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
        *context = stack.back();
        stack.pop_back();
        return CUDA_SUCCESS;
    };
    d.ctx_get_device.function = [](CUdevice* device) -> CUresult {
        MSDA_FAKE("cuCtxGetDevice");
        const auto found = s.contexts.find(s.current());
        if (found == s.contexts.end()) return CUDA_ERROR_INVALID_CONTEXT;
        *device = found->second.device + 100;
        return CUDA_SUCCESS;
    };
    d.ctx_get_id.function = [](CUcontext context, unsigned long long* id) -> CUresult {
        MSDA_FAKE("cuCtxGetId");
        const auto found = s.contexts.find(context);
        if (found == s.contexts.end()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        *id = found->second.id;
        return CUDA_SUCCESS;
    };
    d.ctx_synchronize.function = []() -> CUresult {
        MSDA_FAKE("cuCtxSynchronize");
        bool capturing = false;
        for (auto& [handle, stream] : s.streams)
            if (stream.capturing && stream.context == s.current()) {
                stream.valid = false;
                capturing = true;
            }
        if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        s.finish_all();
        return CUDA_SUCCESS;
    };
    d.thread_exchange_stream_capture_mode.function = [](CUstreamCaptureMode* mode) -> CUresult {
        MSDA_FAKE("cuThreadExchangeStreamCaptureMode");
        auto& own = s.modes.try_emplace(std::this_thread::get_id(), CU_STREAM_CAPTURE_MODE_GLOBAL).first->second;
        std::swap(own, *mode);
        return CUDA_SUCCESS;
    };
}

// --- modules and launches
// How many arguments the kernel of that name declares in the source that the fake compiler put into its image.
std::size_t count_arguments(const std::string& image, std::size_t name_end) {
    const auto close = image.find(')', name_end);
    const std::string list = image.substr(name_end + 1, close - name_end - 1);
    if (list.find_first_not_of(" \n") == std::string::npos) return 0;
    return 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
}

void fill_modules(Driver& d) {
    d.module_load_data_ex.function = [](CUmodule* module, const void* image, unsigned, CUjit_option*,
                                        void**) -> CUresult {
        MSDA_FAKE("cuModuleLoadDataEx");
        if (const CUresult result = s.unsafe(); result != CUDA_SUCCESS) return result;
        if (s.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (std::strncmp(static_cast<const char*>(image), "FAKE ", 5) != 0) return CUDA_ERROR_INVALID_IMAGE;
        *module = s.make_handle<CUmodule>();
        s.modules[*module] = {s.current(), static_cast<const char*>(image), {}};
        s.peak_modules = std::max(s.peak_modules, static_cast<int>(s.modules.size()));
        return CUDA_SUCCESS;
    };
    d.module_unload.function = [](CUmodule module) -> CUresult {
        MSDA_FAKE("cuModuleUnload");
        if (const CUresult result = s.unsafe(); result != CUDA_SUCCESS) return result;
        const auto found = s.modules.find(module);
        if (found == s.modules.end()) {
            s.violations.emplace_back("unload of a module that is not loaded");
            return CUDA_ERROR_INVALID_HANDLE;
        }
        if (found->second.context != s.current()) s.violations.emplace_back("unload in a context not the module's");
        for (const auto& [handle, stream] : s.streams) {
            const auto last = found->second.last.find(stream.id);
            if (last != found->second.last.end() && last->second > stream.finished)
                s.violations.emplace_back("unload of a module that still runs");
        }
        s.modules.erase(found);
        return CUDA_SUCCESS;
    };
    d.module_get_function.function = [](CUfunction* function, CUmodule module, const char* name) -> CUresult {
        MSDA_FAKE("cuModuleGetFunction");
        const std::string& image = s.modules.at(module).image;
        const auto at = image.find(std::string(" ") + name + "(");
        if (at == std::string::npos) return CUDA_ERROR_NOT_FOUND;
        *function = s.make_handle<CUfunction>();
        s.functions[*function] = {module, name, count_arguments(image, at + 1 + std::strlen(name)), 48 << 10};
        return CUDA_SUCCESS;
    };
    d.func_get_attribute.function = [](int* value, CUfunction_attribute, CUfunction) -> CUresult {
        MSDA_FAKE("cuFuncGetAttribute");
        *value = 32;
        return CUDA_SUCCESS;
    };
    d.func_set_attribute.function = [](CUfunction function, CUfunction_attribute attribute, int value) -> CUresult {
        MSDA_FAKE("cuFuncSetAttribute");
        if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) s.functions.at(function).most_shared = value;
        return CUDA_SUCCESS;
    };
    d.func_load.function = [](CUfunction) -> CUresult {
        MSDA_FAKE("cuFuncLoad");
        return s.unsafe();
    };
    d.occupancy_max_active_blocks.function = [](int* blocks, CUfunction, int threads, std::size_t) -> CUresult {
        MSDA_FAKE("cuOccupancyMaxActiveBlocksPerMultiprocessor");
        *blocks = 2048 / std::max(threads, 1);
        return CUDA_SUCCESS;
    };
    d.launch_kernel.function = [](CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                                  unsigned, unsigned shared, CUstream stream, void** arguments, void**) -> CUresult {
        FakeLaunch launch;
        {
            MSDA_FAKE("cuLaunchKernel");
            const auto found = s.functions.find(function);
            if (found == s.functions.end() || !s.modules.contains(found->second.module)) {
                s.violations.emplace_back("launch of a kernel that is not loaded");
                return CUDA_ERROR_INVALID_HANDLE;
            }
            if (s.modules[found->second.module].context != s.current()) return CUDA_ERROR_INVALID_CONTEXT;
            if (static_cast<int>(shared) > found->second.most_shared) return CUDA_ERROR_INVALID_VALUE;
            launch = {found->second.name, {x, y, z}, threads, shared, stream, nullptr, {}, 0, 0, false};
            for (std::size_t i = 0; i < found->second.arguments; ++i) {
                std::uint64_t value = 0;
                std::memcpy(&value, arguments[i], sizeof value);
                launch.arguments.push_back(value);
            }
            if (const CUresult result = s.enqueue(launch, found->second.module); result != CUDA_SUCCESS) return result;
        }
        if (active_driver->on_launch) active_driver->on_launch(launch);
        return CUDA_SUCCESS;
    };
}

}  // namespace

FakeDriver::State& active_state() { return *active; }

std::shared_ptr<Driver> FakeDriver::table() const {
    active_driver = const_cast<FakeDriver*>(this);
    active = state_.get();
    auto driver = std::make_shared<Driver>();
    fill_process(*driver);
    fill_devices(*driver);
    fill_contexts(*driver);
    fill_modules(*driver);
    fill_memory(*driver);
    fill_streams(*driver);
    return driver;
}

FakeDriver::~FakeDriver() {
    if (active == state_.get()) {
        active = nullptr;
        active_driver = nullptr;
    }
}

}  // namespace msda::fakes
