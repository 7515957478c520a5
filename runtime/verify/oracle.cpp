// The oracle's kernels go the way of every other: emitted, compiled or found in the cache, loaded, launched by a plan.
#include "runtime/verify/oracle.hpp"

#include "generator/emit.hpp"
#include "generator/oracle.hpp"
#include "runtime/current_context.hpp"
#include "runtime/gpu_operator.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

// Loaded anew for each problem: a list rarely asks twice, and the code itself is cached.
GpuOperator load(Runtime& runtime, const DevicePlace& place, const Problem& problem) {
    const Plan steps = oracle_plan(problem);
    CompileRequest request;
    request.name = "oracle.cu";
    request.source = emit_oracle(problem);
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = place.context->device().silicon.capability;
    const auto binary = runtime.state().binaries.get(request, place.context->driver().version);
    const CurrentContext current(place.context->driver(), place.context->handle());
    return GpuOperator({problem, {}, "oracle", source_digest(request)}, steps, place.context, binary.get());
}

std::vector<double> download(const DeviceBuffer& buffer, bool wanted) {
    std::vector<double> values(wanted ? buffer.bytes() / sizeof(double) : 0);
    if (!values.empty()) buffer.download(values.data());
    return values;
}

}  // namespace

Oracle::Oracle(Runtime& runtime, const DevicePlace& place)
    : runtime_(runtime),
      place_(place),
      output_(place),
      grad_value_(place),
      grad_locations_(place),
      grad_weights_(place) {}

bool Oracle::on_gpu(const Problem& p) const {
    return place_.context != nullptr && p.reference == Reference::none && !p.softmax;
}

ReferenceResult Oracle::compute(const Problem& problem, const Inputs& inputs, const DeviceTensors& tensors,
                                int threads) {
    if (on_gpu(problem) && !problem.empty()) return compute_on_gpu(problem, tensors);
    return compute_reference(problem, inputs.tensors(), threads);
}

ReferenceResult Oracle::compute_on_gpu(const Problem& p, const DeviceTensors& tensors) {
    const Sizes size = sizes(p);
    const bool backward = p.pass == Pass::backward;
    const auto fit = [](DeviceBuffer& buffer, bool used, std::int64_t elements) {
        buffer.resize(used ? static_cast<std::size_t>(elements) * sizeof(double) : 0);
    };
    fit(output_, !backward, size.output);
    fit(grad_value_, backward, p.batch * p.pixels * p.heads * p.head_dim);
    fit(grad_locations_, backward, size.locations);
    fit(grad_weights_, backward, size.weights);
    Tensors addresses = tensors.addresses();
    addresses.output = output_.data();
    addresses.grad_value = grad_value_.data();
    addresses.grad_locations = grad_locations_.data();
    addresses.grad_weights = grad_weights_.data();
    load(runtime_, place_, p).launch(addresses, nullptr);
    place_.wait();
    ReferenceResult result;
    result.output = download(output_, !backward);
    result.grad_value = download(grad_value_, backward && p.gradients.value);
    result.grad_locations = download(grad_locations_, backward && p.gradients.location);
    result.grad_weights = download(grad_weights_, backward && p.gradients.weight);
    return result;
}

}  // namespace msda
