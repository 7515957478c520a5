#include "runtime/tier/tiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/current_context.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

// A family kernel takes 32 bytes of arguments a level, and older GPUs allow 4 KiB of them.
constexpr std::size_t most_levels = 64;

}  // namespace

Tiers::Tiers(Binaries& binaries, Warnings& warnings, FindNvrtc find_nvrtc, Families::ChooseConfig choose)
    : binaries_(binaries),
      warnings_(warnings),
      find_nvrtc_(std::move(find_nvrtc)),
      families_(binaries, std::move(choose)),
      worker_(std::make_shared<Worker>(pulse_, [this] { round(); })) {}

Tiers::~Tiers() { worker_->stop(); }

bool Tiers::can_serve(const Problem& p) {
    const bool any_gradient = p.gradients.value || p.gradients.location || p.gradients.weight;
    const bool has_kernels = !p.empty() && (p.pass == Pass::forward || any_gradient);
    return has_kernels && p.specialise == Specialise::exact && p.accumulate != Accumulate::deterministic &&
           p.levels.size() <= most_levels;
}

std::shared_ptr<const Operator::State> Tiers::make(Identity exact, const std::shared_ptr<DeviceContext>& context) {
    Problem problem = exact.problem;
    problem.specialise = Specialise::family;
    auto family = families_.serve(problem, context);
    Plan exact_plan = plan(exact.problem, exact.config);
    auto op =
        std::make_shared<TieredOperator>(std::move(exact), std::move(exact_plan), std::move(family), context, pulse_);
    add(op);
    return op;
}

void Tiers::add(const std::shared_ptr<TieredOperator>& op) {
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(operators_, [](const auto& weak) { return weak.expired(); });
        operators_.push_back(op);
    }
    try {
        worker_->start();
    } catch (const std::system_error& error) {
        fail(*op, error.what());
    }
    pulse_->ring();
}

Tiers::Operators Tiers::operators() {
    Operators all;
    const std::lock_guard lock(mutex_);
    for (const auto& weak : operators_)
        if (auto op = weak.lock()) all.push_back(std::move(op));
    return all;
}

void Tiers::round() noexcept {
    while (!worker_->stopping()) {
        std::shared_ptr<TieredOperator> op;
        try {
            unload_evicted();
            op = next();
            if (op == nullptr) return;
            promote(*op);
        } catch (const std::exception& error) {
            if (op == nullptr) return;  // no memory to look around; the next ring tries again
            fail(*op, error.what());
        }
    }
}

// How many kernels are on their way out, once those whose launches have finished are unloaded.
std::size_t Tiers::outgoing(const Operators& all) {
    std::set<DeviceContext*> contexts;
    for (const auto& op : all) contexts.insert(op->context().get());
    std::size_t count = evicted_.size();
    for (DeviceContext* context : contexts) {
        if (!context->has_retired() || !context->alive()) continue;
        const CurrentContext current(context->driver(), context->handle());
        context->collect();
        count += context->retired();
    }
    return count;
}

// The one that ran most among those that miss their kernel, the latest of equals: a shape that came once waits behind
// those that come back. Where all places are taken it must have run later than the kernel that makes room for it.
std::shared_ptr<TieredOperator> Tiers::next() {
    const Operators all = operators();
    if (outgoing(all) >= outgoing_capacity) return nullptr;
    Operators loaded;
    for (const auto& op : all)
        if (const auto exact = op->exact(); exact != nullptr && !exact->held_by_graph()) loaded.push_back(op);
    std::shared_ptr<TieredOperator> oldest;
    if (loaded.size() >= exact_capacity) {
        oldest = *std::ranges::min_element(loaded, {}, [](const auto& op) { return op->last_launch(); });
        const std::uint64_t now = pulse_->launches.load(std::memory_order_relaxed);
        if (oldest->last_launch() + idle_launches > now) return nullptr;
    }
    std::shared_ptr<TieredOperator> best;
    const auto rank = [](const auto& op) { return std::pair(op->launches(), op->last_launch()); };
    for (const auto& op : all)
        if (op->wants_exact() && (!oldest || op->last_launch() > oldest->last_launch()))
            if (!best || rank(op) > rank(best)) best = op;
    if (best && oldest) evicted_.push_back(oldest->evict());
    return best;
}

// Here and not where a launch lets go of them, for unloading takes its time.
void Tiers::unload_evicted() noexcept {
    std::erase_if(evicted_, [](const auto& exact) { return exact.use_count() == 1; });
}

void Tiers::promote(TieredOperator& op) {
    const auto& context = op.context();
    const Driver& driver = context->driver();
    try {
        find_nvrtc_(driver.version);
    } catch (const Error&) {  // a pack may do without
    }
    Worker::stop_at_exit(worker_);
    // Compiling and loading are not the capturing thread's doing; its capture must not end for them.
    const RelaxedCapture relaxed(driver);
    const auto binary = binaries_.get(
        compile_request(op.identity.problem, op.identity.config, context->device().silicon.capability), driver.version);
    if (!context->alive()) return op.give_up();
    const CurrentContext current(driver, context->handle());
    auto module = std::make_shared<const Module>(context, *binary, op.exact_plan());
    op.take(std::make_shared<const GpuOperator>(op.identity, op.exact_plan(), context, std::move(module)));
}

void Tiers::fail(TieredOperator& op, const char* why) noexcept {
    op.give_up();
    try {
        warnings_.once("tier_up", fmt::format("a kernel could not be made in the background, launches stay on that of "
                                              "its family: {}; problem {}",
                                              why, canonical(op.identity.problem)));
    } catch (const std::exception&) {  // no memory for the text
    }
}

}  // namespace msda
