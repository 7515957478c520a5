#include <utility>

#include "msda/msda.hpp"
#include "runtime/device_info.hpp"
#include "runtime/operator_state.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {

Operator::Operator(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const Problem& Operator::problem() const noexcept { return state_->identity.problem; }
const Config& Operator::config() const noexcept { return state_->identity.config; }
const std::string& Operator::config_origin() const noexcept { return state_->identity.config_origin; }
const std::string& Operator::source_digest() const noexcept { return state_->identity.source_digest; }
Specialise Operator::tier() const noexcept { return state_->tier(); }
std::size_t Operator::workspace_bytes() const noexcept { return state_->workspace_bytes; }
void Operator::launch(const Tensors& tensors, Stream stream) const { state_->launch(tensors, stream); }

Runtime::Runtime(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Runtime::~Runtime() = default;

// Left to the operating system: other static objects may still launch while they are destroyed.
Runtime& Runtime::shared() {
    static Runtime* const runtime = new Runtime;
    return *runtime;
}

Operator Runtime::prepare(const Problem& problem, Device device) {
    return Operator(state_->prepare(*this, problem, std::nullopt, device, nullptr));
}

Operator Runtime::prepare(const Problem& problem, const Config& config, Device device) {
    return Operator(state_->prepare(*this, problem, config, device, nullptr));
}

Operator Runtime::prepare(const Problem& problem, Device device, Stream stream) {
    return Operator(state_->prepare(*this, problem, std::nullopt, device, &stream));
}

void Runtime::settle() noexcept { state_->settle(); }

Silicon Runtime::silicon(Device device) {
    if (device.kind != Device::Kind::gpu) return {};
    return device_info(*state_->driver(), state_->ordinal_of(device)).silicon;
}

bool Runtime::has_gpu() noexcept {
    try {
        state_->driver();
        return true;
    } catch (...) {
        return false;
    }
}

const char* version() noexcept { return MSDA_VERSION; }

}  // namespace msda
