// Sizes and uses of each tensor, from the problem alone.
#include "runtime/verify/device_tensors.hpp"

#include <algorithm>

namespace msda {
namespace {

std::size_t bytes(std::int64_t elements, Type type) { return static_cast<std::size_t>(elements) * bytes_of(type); }

}  // namespace

DeviceTensors::DeviceTensors(const DevicePlace& place)
    : place_(place),
      value_(place),
      locations_(place),
      weights_(place),
      references_(place),
      scales_(place),
      grad_output_(place),
      output_(place),
      grad_value_(place),
      grad_locations_(place),
      grad_weights_(place),
      grad_references_(place),
      workspace_(place) {}

void DeviceTensors::fit(const Problem& p, std::size_t workspace_bytes) {
    problem_ = p;
    const Sizes size = sizes(p);
    const bool backward = p.pass == Pass::backward;
    const auto fit_one = [&](DeviceBuffer& buffer, bool used, std::int64_t elements, Type type) {
        const std::size_t alignment = std::max<std::size_t>(static_cast<std::size_t>(p.alignment), bytes_of(type));
        buffer.resize(used ? bytes(elements, type) : 0, alignment < 16 ? alignment : 0);
    };
    fit_one(value_, true, size.value, p.value);
    fit_one(locations_, true, size.locations, p.location);
    fit_one(weights_, true, size.weights, p.weight);
    fit_one(references_, true, size.references, p.location);
    scales_.resize(p.value == Type::e4m3 ? bytes(p.heads, Type::f32) : 0);
    fit_one(grad_output_, backward, size.output, p.output);
    fit_one(output_, !backward, size.output, p.output);
    fit_one(grad_value_, backward && p.gradients.value, p.batch * p.pixels * p.heads * p.head_dim, p.value);
    fit_one(grad_locations_, backward && p.gradients.location, size.locations, p.location);
    fit_one(grad_weights_, backward && p.gradients.weight, size.weights, p.weight);
    fit_one(grad_references_, backward && p.gradients.location, size.references, p.location);
    workspace_.resize(workspace_bytes);
}

void DeviceTensors::upload(const Inputs& inputs) {
    value_.upload(inputs.value.data());
    locations_.upload(inputs.locations.data());
    weights_.upload(inputs.weights.data());
    references_.upload(inputs.references.data());
    scales_.upload(inputs.scales.data());
    grad_output_.upload(inputs.grad_output.data());
    // A copy from pageable memory may return before the last bytes have arrived, and launches may go to any stream.
    place_.wait();
}

void DeviceTensors::poison() {
    for (DeviceBuffer* buffer :
         {&output_, &grad_value_, &grad_locations_, &grad_weights_, &grad_references_, &workspace_})
        buffer->fill(0xff);
}

void DeviceTensors::download(Outputs& outputs) const {
    const auto get = [](const DeviceBuffer& from, HostBuffer& to) {
        if (to.bytes() != from.bytes()) to = HostBuffer(from.bytes());
        from.download(to.data());
    };
    get(output_, outputs.output);
    get(grad_value_, outputs.grad_value);
    get(grad_locations_, outputs.grad_locations);
    get(grad_weights_, outputs.grad_weights);
    get(grad_references_, outputs.grad_references);
}

std::string DeviceTensors::overrun() const {
    if (!output_.guards_intact()) return "output";
    if (!grad_value_.guards_intact()) return "grad_value";
    if (!grad_locations_.guards_intact()) return "grad_locations";
    if (!grad_weights_.guards_intact()) return "grad_weights";
    if (!grad_references_.guards_intact()) return "grad_references";
    if (!workspace_.guards_intact()) return "workspace";
    return {};
}

Tensors DeviceTensors::addresses() const {
    Tensors t;
    t.value = value_.data();
    t.locations = locations_.data();
    t.weights = weights_.data();
    t.references = references_.data();
    t.scales = scales_.data();
    t.grad_output = grad_output_.data();
    t.output = output_.data();
    t.grad_value = grad_value_.data();
    t.grad_locations = grad_locations_.data();
    t.grad_weights = grad_weights_.data();
    t.grad_references = grad_references_.data();
    t.workspace = workspace_.data();
    return t;
}

}  // namespace msda
