#include "runtime/tier/tiered_operator.hpp"

#include <algorithm>
#include <utility>

namespace msda {

TieredOperator::TieredOperator(Identity exact, Plan exact_plan, std::shared_ptr<const GpuOperator> family,
                               std::shared_ptr<DeviceContext> context, std::shared_ptr<TierPulse> pulse)
    : State(std::move(exact)),
      exact_plan_(std::move(exact_plan)),
      exact_checks_(AddressChecks::of(identity.problem, exact_plan_)),
      family_(std::move(family)),
      context_(std::move(context)),
      pulse_(std::move(pulse)),
      last_launch_(pulse_->launches.load(std::memory_order_relaxed)) {
    workspace_bytes = std::max(exact_plan_.workspace_bytes, family_->workspace_bytes);
}

void TieredOperator::launch(const Tensors& tensors, Stream stream) const {
    const Addresses addresses = addresses_of(tensors);
    exact_checks_.verify(addresses);
    const std::shared_ptr<const GpuOperator> own = exact();
    if (own != nullptr) family_->verify(addresses);
    (own != nullptr ? *own : *family_).launch(tensors, stream);
    note_launch(own == nullptr);
}

void TieredOperator::note_launch(bool on_family) const noexcept {
    const std::uint64_t now = pulse_->launches.fetch_add(1, std::memory_order_relaxed) + 1;
    last_launch_.store(now, std::memory_order_relaxed);
    launches_.fetch_add(1, std::memory_order_relaxed);
    if (!on_family) return;
    Wish wish = Wish::none;
    const bool wakes = wish_.compare_exchange_strong(wish, Wish::exact, std::memory_order_relaxed);
    if (wakes || (wish == Wish::exact && now % pulse_period == 0)) pulse_->ring();
}

Specialise TieredOperator::tier() const noexcept {
    const std::lock_guard lock(mutex_);
    return exact_ != nullptr ? Specialise::exact : Specialise::family;
}

std::shared_ptr<const GpuOperator> TieredOperator::exact() const {
    const std::lock_guard lock(mutex_);
    return exact_;
}

void TieredOperator::take(std::shared_ptr<const GpuOperator> exact) {
    const std::lock_guard lock(mutex_);
    exact_ = std::move(exact);
    wish_.store(Wish::none, std::memory_order_relaxed);
}

std::shared_ptr<const GpuOperator> TieredOperator::evict() {
    launches_.store(0, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    return std::move(exact_);
}

}  // namespace msda
