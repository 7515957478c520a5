// A prepared problem with two kernels: its family's, which serves at once and always, and its own, which a background
// thread swaps in and out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/gpu_operator.hpp"
#include "runtime/tier/worker.hpp"

namespace msda {

// What the tiered operators of a runtime share with its background thread.
struct TierPulse : Bell {
    std::atomic<std::uint64_t> launches{0};  // of all of them: the clock that tells who has not run for long
};

class TieredOperator final : public Operator::State {
  public:
    // A look at what waits for room, once so many launches.
    static constexpr std::uint64_t pulse_period = 1024;

    // `exact` and `exact_plan` are of the kernel to come; the workspace is the larger one of both kernels.
    TieredOperator(Identity exact, Plan exact_plan, std::shared_ptr<const GpuOperator> family,
                   std::shared_ptr<DeviceContext> context, std::shared_ptr<TierPulse> pulse);

    // Checks the addresses for both kernels, so that a call does not depend on which of them runs.
    void launch(const Tensors& tensors, Stream stream) const override;
    Specialise tier() const noexcept override;

    // --- for the background thread ---
    const Plan& exact_plan() const noexcept { return exact_plan_; }
    const std::shared_ptr<DeviceContext>& context() const noexcept { return context_; }

    // True while an exact kernel is missed: until take(), and again from the first launch after an evict().
    bool wants_exact() const noexcept { return wish_.load(std::memory_order_relaxed) == Wish::exact; }
    std::uint64_t launches() const noexcept { return launches_.load(std::memory_order_relaxed); }
    // When it was last launched, or made, on the pulse's clock.
    std::uint64_t last_launch() const noexcept { return last_launch_.load(std::memory_order_relaxed); }

    // The exact kernel, or null.
    std::shared_ptr<const GpuOperator> exact() const;
    // From the next launch on `exact` runs.
    void take(std::shared_ptr<const GpuOperator> exact);
    // From the next launch on the family's kernel runs; gives back the exact one, which launches under way may still
    // use.
    std::shared_ptr<const GpuOperator> evict();
    // There will be no exact kernel.
    void give_up() noexcept { wish_.store(Wish::never, std::memory_order_relaxed); }

  private:
    enum class Wish : std::uint8_t { none, exact, never };
    void note_launch(bool on_family) const noexcept;

    const Plan exact_plan_;
    const AddressChecks exact_checks_;
    const std::shared_ptr<const GpuOperator> family_;
    const std::shared_ptr<DeviceContext> context_;
    const std::shared_ptr<TierPulse> pulse_;
    mutable std::atomic<std::uint64_t> launches_{0};  // since it was made or evicted
    mutable std::atomic<std::uint64_t> last_launch_;
    mutable std::atomic<Wish> wish_{Wish::exact};
    mutable std::mutex mutex_;  // of the pointer; held for a copy, never during a launch
    std::shared_ptr<const GpuOperator> exact_;
};

}  // namespace msda
