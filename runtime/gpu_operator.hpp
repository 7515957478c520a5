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
    GpuOperator(Identity identity, Plan plan, std::shared_ptr<DeviceContext> context, const Binary* binary);

    void launch(const Tensors& tensors, Stream stream) const override;

  private:
    void enqueue(std::size_t index, const Addresses& addresses, CUstream stream) const;
    void zero(const Step& step, const Addresses& addresses, CUstream stream) const;

    Plan plan_;
    AddressChecks checks_;
    std::shared_ptr<DeviceContext> context_;
    std::unique_ptr<const Module> module_;  // null for a plan without kernels
};

}  // namespace msda
