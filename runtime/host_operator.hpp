// Prepared problems that run on host memory: by the CPU path, or by the GPU's own kernels under emulation.
#pragma once

#include <memory>

#include "runtime/addresses.hpp"
#include "runtime/emulation/emulator.hpp"
#include "runtime/operator_state.hpp"

namespace msda {

// Runs cpu_launch() on `threads` threads (0: all).
class CpuOperator final : public Operator::State {
  public:
    CpuOperator(Identity what, int threads);
    void launch(const Tensors& tensors, Stream stream) const override;

  private:
    AddressChecks checks_;
    int threads_;
};

// Runs the emitted kernels as the emulator built them.
class EmulatedOperator final : public Operator::State {
  public:
    // `module` null: a plan without kernels. Throws Error as Emulator::compile.
    EmulatedOperator(Identity what, Plan plan, std::shared_ptr<Emulator> emulator,
                     std::shared_ptr<const EmulatedModule> module);
    void launch(const Tensors& tensors, Stream stream) const override;

  private:
    Plan plan_;
    AddressChecks checks_;
    std::shared_ptr<Emulator> emulator_;
    std::shared_ptr<const EmulatedModule> module_;
};

}  // namespace msda
