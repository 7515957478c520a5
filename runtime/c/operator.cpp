// Operators of the C interface.
#include <fmt/format.h>

#include <optional>

#include "runtime/c/boundary.hpp"
#include "runtime/c/handles.hpp"
#include "runtime/runtime_state.hpp"

namespace msda::c {
namespace {

Device device_of(msda_device device) {
    if (device >= 0) return Device::gpu(device);
    switch (device) {
        case MSDA_CPU:
            return Device::cpu();
        case MSDA_CURRENT:
            return Device::current();
        case MSDA_EMULATED:
            return Device::emulated();
        default:
            throw Error(
                Code::invalid_argument,
                fmt::format("device: expected CUDA's number of a device, MSDA_CPU, MSDA_CURRENT or MSDA_EMULATED "
                            "(-1 to -3), got {}",
                            device));
    }
}

msda_operator* prepare(Runtime& runtime, const Problem& problem, Device device, const msda_prepare_options& options) {
    if (options.has_stream != 0 && options.has_stream != 1)
        throw Error(Code::invalid_argument,
                    fmt::format("options.has_stream: expected 0 or 1, got {}", options.has_stream));
    std::optional<Config> config;
    if (options.config != nullptr) config = parse_config(options.config);
    const Stream stream = options.stream;
    const Operator prepared(
        runtime.state().prepare(runtime, problem, config, device, options.has_stream == 1 ? &stream : nullptr));
    return new msda_operator{prepared, canonical(prepared.problem()), canonical(prepared.config())};
}

Tensors tensors_of(const msda_tensors& t) {
    return {t.value,       t.locations,  t.weights,        t.references,   t.scales,          t.output,
            t.grad_output, t.grad_value, t.grad_locations, t.grad_weights, t.grad_references, t.workspace};
}

}  // namespace
}  // namespace msda::c

using namespace msda;

msda_status msda_prepare(msda_runtime* runtime, const msda_problem* problem, msda_device device,
                         const msda_prepare_options* options, msda_operator** prepared) {
    return c::guarded([&] {
        c::require(prepared, "prepared");
        *prepared = nullptr;
        c::require(problem, "problem");
        const msda_prepare_options defaults = MSDA_PREPARE_OPTIONS_INIT;
        *prepared = c::prepare(c::runtime_of(runtime), problem->problem, c::device_of(device),
                               c::read_struct(options != nullptr ? options : &defaults, "options"));
    });
}

void msda_operator_destroy(msda_operator* prepared) { delete prepared; }

const char* msda_operator_problem(const msda_operator* prepared) {
    return prepared != nullptr ? prepared->problem.c_str() : "";
}
const char* msda_operator_config(const msda_operator* prepared) {
    return prepared != nullptr ? prepared->config.c_str() : "";
}
const char* msda_operator_config_origin(const msda_operator* prepared) {
    return prepared != nullptr ? prepared->prepared.config_origin().c_str() : "";
}
const char* msda_operator_source_digest(const msda_operator* prepared) {
    return prepared != nullptr ? prepared->prepared.source_digest().c_str() : "";
}
int32_t msda_operator_tier(const msda_operator* prepared) {
    return prepared != nullptr && prepared->prepared.tier() == Specialise::family ? MSDA_FAMILY : MSDA_EXACT;
}
size_t msda_operator_workspace_bytes(const msda_operator* prepared) {
    return prepared != nullptr ? prepared->prepared.workspace_bytes() : 0;
}

msda_status msda_launch(const msda_operator* prepared, const msda_tensors* tensors, void* stream) {
    return c::guarded([&] {
        c::require(prepared, "prepared");
        prepared->prepared.launch(c::tensors_of(c::read_struct(tensors, "tensors")), stream);
    });
}
