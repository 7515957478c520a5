#include "runtime/gpu_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "msda/error.hpp"
#include "runtime/current_context.hpp"

namespace msda {
namespace {

// More than any kernel of the generator takes; they live on the stack, since a launch allocates nothing.
constexpr std::size_t most_arguments = 24;

[[noreturn]] void fail_launch(const Driver& driver, CUresult result, const Step& step, const Identity& what) {
    throw Error(
        Code::driver_failed,
        fmt::format("{} failed: {}; kernel {}, grid {}x{}x{}, {} threads, {} bytes of shared memory, problem {}",
                    driver.launch_kernel.name, driver.describe(result), step.kernel, step.grid[0], step.grid[1],
                    step.grid[2], step.threads, step.shared_bytes, canonical(what.problem)));
}

}  // namespace

GpuOperator::GpuOperator(Identity what, const Plan& plan, const std::shared_ptr<DeviceContext>& context,
                         const Binary* binary)
    : GpuOperator(std::move(what), plan, context,
                  binary != nullptr ? std::make_shared<const Module>(context, *binary, plan) : nullptr) {}

GpuOperator::GpuOperator(Identity what, Plan plan, std::shared_ptr<DeviceContext> context,
                         std::shared_ptr<const Module> module)
    : State(std::move(what)),
      plan_(std::move(plan)),
      checks_(AddressChecks::of(identity.problem, plan_)),
      context_(std::move(context)),
      module_(std::move(module)) {
    workspace_bytes = plan_.workspace_bytes;
    for (const Step& step : plan_.steps)
        if (step.arguments.size() > most_arguments)
            throw Error(Code::unsupported, fmt::format("{}: expected at most {} arguments, got {}", step.kernel,
                                                       most_arguments, step.arguments.size()));
}

void GpuOperator::launch(const Tensors& tensors, Stream stream) const {
    const Addresses addresses = addresses_of(tensors);
    checks_.verify(addresses);
    if (plan_.steps.empty()) return;
    check_not_forked(context_->generation());
    const auto target = static_cast<CUstream>(stream);
    const CurrentContext current(context_->driver(), context_->handle());
    if (module_ != nullptr) module_->before_launch(target);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) enqueue(i, addresses, target);
    if (context_->has_retired()) [[unlikely]]
        context_->mark(target);
}

void GpuOperator::enqueue(std::size_t index, const Addresses& addresses, CUstream stream) const {
    const Step& step = plan_.steps[index];
    if (step.kind == Step::Kind::zero) return zero(step, addresses, stream);
    std::array<const void*, most_arguments> values;
    std::array<void*, most_arguments> arguments;
    for (std::size_t i = 0; i < step.arguments.size(); ++i) {
        const Slot& slot = step.arguments[i];
        if (slot.buffer == Buffer::shape) {
            arguments[i] = const_cast<std::byte*>(plan_.shape.data()) + slot.offset;
        } else {
            values[i] = static_cast<const char*>(addresses[static_cast<std::size_t>(slot.buffer)]) + slot.offset;
            arguments[i] = &values[i];
        }
    }
    const Driver& driver = context_->driver();
    const CUresult result =
        driver.launch_kernel(module_->function(index), step.grid[0], step.grid[1], step.grid[2], step.threads, 1, 1,
                             static_cast<unsigned>(step.shared_bytes), stream, arguments.data(), nullptr);
    if (result != CUDA_SUCCESS) [[unlikely]]
        fail_launch(driver, result, step, identity);
}

// In the widest words that address and size allow.
void GpuOperator::zero(const Step& step, const Addresses& addresses, CUstream stream) const {
    const Driver& driver = context_->driver();
    const auto address =
        reinterpret_cast<CUdeviceptr>(addresses[static_cast<std::size_t>(step.target.buffer)]) + step.target.offset;
    if (step.bytes == 0) return;
    if (((address | step.bytes) & 3) == 0)
        driver.check(driver.memset_d32_async, address, 0u, step.bytes / 4, stream);
    else
        driver.check(driver.memset_d16_async, address, static_cast<unsigned short>(0), step.bytes / 2, stream);
}

}  // namespace msda
