// The runtime on demand, and the words for devices.
#include "tools/cli/session.hpp"

#include <fmt/format.h>

#include "tools/cli/numbers.hpp"

namespace msda::cli {

Runtime& Session::runtime() {
    std::call_once(runtime_made_, [this] {
        Options options = Options::from_environment();
        options.warn = [this](const std::string& message) { err_ << fmt::format("msda: warning: {}\n", message); };
        runtime_ = std::make_unique<Runtime>(std::move(options));
    });
    return *runtime_;
}

Device Session::device(const std::string& text) {
    if (text == "cpu") return Device::cpu();
    if (text == "emulate") return Device::emulated();
    if (text == "gpu") return Device::gpu();
    if (text == "auto") return runtime().has_gpu() ? Device::gpu() : Device::cpu();
    if (text.starts_with("gpu:"))
        return Device::gpu(static_cast<int>(parse_integer("--device gpu:N", text.substr(4), 0, 1023)));
    throw Error(Code::invalid_argument,
                fmt::format("--device: expected auto, gpu, gpu:N, cpu or emulate, got '{}'", text));
}

const char* device_name(Device device) {
    switch (device.kind) {
        case Device::Kind::gpu:
            return "gpu";
        case Device::Kind::cpu:
            return "cpu";
        case Device::Kind::emulated:
            return "emulate";
    }
    return "";
}

}  // namespace msda::cli
