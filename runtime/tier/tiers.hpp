// Tier-up: new shapes run at once on kernels of their family, while their own are compiled in the background and
// swapped in; the ones that have not run for long make room.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/tier/families.hpp"
#include "runtime/tier/tiered_operator.hpp"

namespace msda {

// Thread-safe. Its background thread starts with the first operator and ends with this object.
class Tiers {
  public:
    using FindNvrtc = Binaries::FindNvrtc;

    // Exact kernels loaded at once, besides those that graphs hold: the 13 image sizes of an RT-DETR training in both
    // passes twice over.
    static constexpr std::size_t exact_capacity = 64;
    // Kernels on their way out (launches under way, streams not used since) beyond which nothing new is loaded.
    static constexpr std::size_t outgoing_capacity = 16;
    // An exact kernel makes room when none of the last so many launches was its own; else shapes in a cycle longer than
    // the capacity would load a kernel at each launch.
    static constexpr std::uint64_t idle_launches = 1024;

    Tiers(Binaries& binaries, Warnings& warnings, FindNvrtc find_nvrtc, Families::ChooseConfig choose);
    ~Tiers();

    // True for a problem that has a kernel of its own and one of its family, with results that may differ in rounding.
    static bool can_serve(const Problem& problem);

    // An operator that runs on its family's kernel from now on and on the one of `exact` when that is ready. Throws as
    // Runtime::prepare.
    std::shared_ptr<const Operator::State> make(Identity exact, const std::shared_ptr<DeviceContext>& context);

    // Runtime::settle.
    void settle() noexcept { worker_->settle(); }

    // Drops the family kernels of a context that was destroyed.
    void forget(const DeviceContext& context) noexcept { families_.forget(context); }

  private:
    using Operators = std::vector<std::shared_ptr<TieredOperator>>;

    void add(const std::shared_ptr<TieredOperator>& op);
    Operators operators();
    void round() noexcept;
    std::size_t outgoing(const Operators& all);
    std::shared_ptr<TieredOperator> next();
    void unload_evicted() noexcept;
    void promote(TieredOperator& op);
    void fail(TieredOperator& op, const char* why) noexcept;

    Binaries& binaries_;
    Warnings& warnings_;
    const FindNvrtc find_nvrtc_;
    Families families_;
    const std::shared_ptr<TierPulse> pulse_ = std::make_shared<TierPulse>();

    std::mutex mutex_;  // of the list
    std::vector<std::weak_ptr<TieredOperator>> operators_;
    // Of the background thread alone: kernels that launches under way may still use.
    std::vector<std::shared_ptr<const GpuOperator>> evicted_;
    const std::shared_ptr<Worker> worker_;
};

}  // namespace msda
