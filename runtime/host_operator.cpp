#include "runtime/host_operator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/cpu/cpu.hpp"

namespace msda {

CpuOperator::CpuOperator(Identity what, int threads)
    : State(std::move(what)), checks_(AddressChecks::of_host(identity.problem)), threads_(threads) {}

void CpuOperator::launch(const Tensors& tensors, Stream) const {
    checks_.verify(addresses_of(tensors));
    cpu_launch(identity.problem, tensors, threads_);
}

EmulatedOperator::EmulatedOperator(Identity what, Plan plan, std::shared_ptr<Emulator> emulator,
                                   std::shared_ptr<const EmulatedModule> module)
    : State(std::move(what)),
      plan_(std::move(plan)),
      checks_(AddressChecks::of(identity.problem, plan_)),
      emulator_(std::move(emulator)),
      module_(std::move(module)) {
    workspace_bytes = plan_.workspace_bytes;
}

void EmulatedOperator::launch(const Tensors& tensors, Stream) const {
    const Addresses addresses = addresses_of(tensors);
    checks_.verify(addresses);
    if (module_ != nullptr) {
        emulator_->run(plan_, *module_, tensors, emulation_extents(identity.problem, plan_, tensors));
        return;
    }
    for (const Step& step : plan_.steps)
        std::memset(static_cast<char*>(const_cast<void*>(addresses[static_cast<std::size_t>(step.target.buffer)])) +
                        step.target.offset,
                    0, step.bytes);
}

}  // namespace msda
