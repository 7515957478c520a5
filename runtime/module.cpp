#include "runtime/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace msda {
namespace {

// Every GPU grants this much dynamic shared memory unasked.
constexpr std::size_t shared_unasked = 48 << 10;

}  // namespace

Module::Module(std::shared_ptr<DeviceContext> context, const Binary& binary, const Plan& plan)
    : context_(std::move(context)) {
    load(binary);
    try {
        // Steps may share a kernel and differ in shared memory: the largest is allowed.
        std::map<std::string, std::size_t> shared;
        for (const Step& step : plan.steps)
            if (step.kind == Step::Kind::kernel) {
                auto& most = shared[step.kernel];
                most = std::max(most, step.shared_bytes);
            }
        std::map<std::string, CUfunction> ready_functions;
        for (const auto& [kernel, bytes] : shared) ready_functions[kernel] = ready(kernel, bytes);
        for (const Step& step : plan.steps)
            functions_.push_back(step.kind == Step::Kind::kernel ? ready_functions[step.kernel] : nullptr);
    } catch (...) {
        context_->retire(module_, log_);
        throw;
    }
}

Module::~Module() { context_->retire(module_, log_); }

void Module::load(const Binary& binary) {
    const Driver& driver = context_->driver();
    std::array<char, 8192> log{};
    std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
    const CUresult result = driver.module_load_data_ex(
        &module_, binary.bytes.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
    if (result == CUDA_SUCCESS) return;
    const bool not_for_this_gpu =
        result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_NO_BINARY_FOR_GPU;
    Code code = Code::driver_failed;
    if (not_for_this_gpu) code = Code::unsupported;
    if (result == CUDA_ERROR_OUT_OF_MEMORY) code = Code::out_of_memory;
    throw Error(
        code,
        fmt::format("{} failed on code of {} for {} (sm_{}, driver of CUDA {}): {}", driver.module_load_data_ex.name,
                    binary.target.architecture(), context_->device().name, context_->device().silicon.capability,
                    version_text(driver.version), driver.describe(result)),
        log.data());
}

CUfunction Module::ready(const std::string& kernel, std::size_t shared_bytes) const {
    const Driver& driver = context_->driver();
    CUfunction function = nullptr;
    driver.check(driver.module_get_function, &function, module_, kernel.c_str());
    if (shared_bytes > shared_unasked)
        driver.check(driver.func_set_attribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     static_cast<int>(shared_bytes));
    // Under lazy loading (CUDA_MODULE_LOADING=LAZY, the default) the code would come in at the first launch, which may
    // be captured.
    int registers = 0;
    if (driver.func_load) driver.check(driver.func_load, function);
    driver.check(driver.func_get_attribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    return function;
}

}  // namespace msda
