// A prepared problem on a GPU: a loaded module and its launch plan, ready to be enqueued with nothing but addresses
// missing.
#pragma once

#include <array>
#include <memory>

#include "runtime/addresses.hpp"
#include "runtime/module.hpp"
#include "runtime/operator_state.hpp"

namespace msda {

class GpuOperator final : public Operator::State {
  public:
    // A plan without kernels needs no binary. The context must be current. Throws as Module does.
    GpuOperator(Identity identity, const Plan& plan, const std::shared_ptr<DeviceContext>& context,
                const Binary* binary);
    // On a module that holds the plan's kernels, step by step, and may serve other operators too; null for a plan
    // without.
    GpuOperator(Identity identity, Plan plan, std::shared_ptr<DeviceContext> context,
                std::shared_ptr<const Module> module);

    void launch(const Tensors& tensors, Stream stream) const override;

    // The checks that launch() starts with.
    void verify(const Addresses& addresses) const { checks_.verify(addresses); }
    // True when a graph may hold its kernels, so that they are never unloaded.
    bool held_by_graph() const noexcept { return module_ != nullptr && module_->kept_forever(); }

  private:
    void enqueue(std::size_t index, const Addresses& addresses, CUstream stream) const;
    void zero(const Step& step, const Addresses& addresses, CUstream stream) const;

    Plan plan_;
    AddressChecks checks_;
    std::shared_ptr<DeviceContext> context_;
    std::shared_ptr<const Module> module_;  // null for a plan without kernels
};

}  // namespace msda
