#include "runtime/verify/device_reference.hpp"

#include "runtime/verify/judge.hpp"

namespace msda {

DeviceReference::DeviceReference(Runtime& runtime, const DevicePlace& place)
    : comparison_(runtime, place), output_(place), grad_value_(place), grad_locations_(place), grad_weights_(place) {}

void DeviceReference::set(const Problem& problem, const ReferenceResult& reference) {
    problem_ = problem;
    const auto copy = [](DeviceBuffer& buffer, const std::vector<double>& values) {
        buffer.resize(values.size() * sizeof(double));
        buffer.upload(values.data());
    };
    copy(output_, reference.output);
    copy(grad_value_, reference.grad_value);
    copy(grad_locations_, reference.grad_locations);
    copy(grad_weights_, reference.grad_weights);
}

bool DeviceReference::confirms(const DeviceTensors& got) {
    const Problem& p = problem_;
    const Tensors tensors = got.addresses();
    const auto confirmed = [&](const DeviceBuffer& reference, Type type, const void* result, double most) {
        const auto count = static_cast<std::int64_t>(reference.bytes() / sizeof(double));
        if (count == 0) return true;
        return comparison_.norm_error(reference.data(), type, result, count) <= most;  // false for NaN
    };
    const bool some = output_.bytes() + grad_value_.bytes() + grad_locations_.bytes() + grad_weights_.bytes() > 0;
    return some && p.reference == Reference::none &&  // gradients of references are for the host
           confirmed(output_, p.output, tensors.output, tolerance(p.pass, p.output)) &&
           confirmed(grad_value_, p.value, tensors.grad_value, grad_value_tolerance(p)) &&
           confirmed(grad_locations_, p.location, tensors.grad_locations, tolerance(p.pass, p.location)) &&
           confirmed(grad_weights_, p.weight, tensors.grad_weights, tolerance(p.pass, p.weight));
}

}  // namespace msda
