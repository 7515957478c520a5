#include "runtime/tier/families.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "generator/emit.hpp"
#include "runtime/current_context.hpp"
#include "runtime/runtime_state.hpp"
#include "tuning_db/family.hpp"

namespace msda {
namespace {

// One module serves both plans: kernels and their shared memory agree step by step.
bool same_kernels(const std::vector<Step>& a, const std::vector<Step>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Step& x, const Step& y) {
        return x.kind == y.kind && x.kernel == y.kernel && x.shared_bytes == y.shared_bytes;
    });
}

}  // namespace

Config portable(const Problem& problem, const Config& config, const Silicon& silicon) {
    if (problem.pass == Pass::forward || config.scatter != scatter_owned) return config;
    Config direct = config;
    direct.scatter = scatter_direct;
    direct.kept = 0;
    return why_not(problem, direct, silicon).empty() ? direct : config;
}

std::vector<Families::Kernel> Families::kernels_of(const DeviceContext& context, const std::string& family) {
    std::vector<Kernel> found;
    const std::lock_guard lock(mutex_);
    for (const Kernel& kernel : kernels_)
        if (kernel.context.get() == &context && kernel.family == family) found.push_back(kernel);
    return found;
}

void Families::keep(Kernel kernel) {
    std::vector<Kernel> dropped;  // destroyed after the lock is gone
    const std::lock_guard lock(mutex_);
    kernel.used = ++clock_;
    const auto same = [&](const Kernel& other) { return other.module == kernel.module; };
    if (const auto known = std::ranges::find_if(kernels_, same); known != kernels_.end()) {
        known->used = kernel.used;
        return;
    }
    kernels_.push_back(std::move(kernel));
    if (kernels_.size() <= capacity) return;
    const auto oldest = std::ranges::min_element(kernels_, {}, &Kernel::used);
    dropped.push_back(std::move(*oldest));
    kernels_.erase(oldest);
}

Families::Kernel Families::compile(const Problem& problem, const std::string& family,
                                   const std::shared_ptr<DeviceContext>& context) {
    const Silicon& silicon = context->device().silicon;
    Kernel kernel{context, family, portable(problem, choose_(problem, silicon), silicon), {}, {}, {}, nullptr};
    if (const std::string why = why_not(problem, kernel.config, silicon); !why.empty())
        throw Error(Code::unsupported, why);
    const CompileRequest request = compile_request(problem, kernel.config, silicon.capability);
    kernel.source = request.source;
    kernel.digest = source_digest(request);
    Plan steps = plan(problem, kernel.config);
    const auto binary = binaries_.get(request, context->driver().version);
    const RelaxedCapture relaxed(context->driver());
    const CurrentContext current(context->driver(), context->handle());
    context->collect();
    kernel.module = std::make_shared<const Module>(context, *binary, steps);
    kernel.steps = std::move(steps.steps);
    return kernel;
}

std::shared_ptr<const GpuOperator> Families::serve(const Problem& problem,
                                                   const std::shared_ptr<DeviceContext>& context) {
    const std::string family = family_of(problem);
    const auto serves = [&](const Kernel& kernel) {
        return why_not(problem, kernel.config, context->device().silicon).empty() &&
               emit(problem, kernel.config) == kernel.source &&
               same_kernels(plan(problem, kernel.config).steps, kernel.steps);
    };
    const std::vector<Kernel> known = kernels_of(*context, family);
    const auto fits = std::ranges::find_if(known, serves);
    const Kernel kernel = fits != known.end() ? *fits : compile(problem, family, context);
    keep(kernel);
    return std::make_shared<const GpuOperator>(Identity{problem, kernel.config, "family", kernel.digest},
                                               plan(problem, kernel.config), context, kernel.module);
}

void Families::forget(const DeviceContext& context) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(kernels_, [&](const Kernel& kernel) { return kernel.context.get() == &context; });
}

}  // namespace msda
