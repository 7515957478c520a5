// How many copies, and their contents.
#include "runtime/measure/rotating_tensors.hpp"

#include <algorithm>

#include "runtime/current_context.hpp"

namespace msda {
namespace {

constexpr std::size_t most_copies = 64;

std::size_t copies_for(const DevicePlace& place, std::size_t bytes) {
    if (place.context == nullptr || bytes == 0) return 1;
    const Driver& driver = place.context->driver();
    const CurrentContext current(driver, place.context->handle());
    std::size_t free = 0;
    std::size_t total = 0;
    driver.check(driver.mem_get_info, &free, &total);
    const auto l2 = static_cast<std::size_t>(place.context->device().silicon.l2_bytes);
    const std::size_t wanted = std::max<std::size_t>(2, 3 * l2 / bytes + 1);
    return std::clamp<std::size_t>(std::min(wanted, free / 4 / bytes), 1, most_copies);
}

}  // namespace

std::size_t tensor_bytes(const Problem& problem) {
    const Sizes elements = sizes(problem);
    const auto bytes = [](std::int64_t count, Type type) { return static_cast<std::size_t>(count) * bytes_of(type); };
    std::size_t total = bytes(elements.value, problem.value) + bytes(elements.locations, problem.location) +
                        bytes(elements.weights, problem.weight) + bytes(elements.references, problem.location) +
                        bytes(elements.output, problem.output);
    if (problem.pass == Pass::forward) return total;
    if (problem.gradients.value) total += bytes(elements.value, problem.value);
    if (problem.gradients.location) total += bytes(elements.locations, problem.location);
    if (problem.gradients.weight) total += bytes(elements.weights, problem.weight);
    return total;
}

RotatingTensors::RotatingTensors(const DevicePlace& place, const Problem& problem, const Inputs& inputs,
                                 std::size_t workspace_bytes)
    : place_(place) {
    const std::size_t copies = copies_for(place, tensor_bytes(problem) + workspace_bytes);
    for (std::size_t i = 0; i < copies; i++) {
        DeviceTensors& tensors = copies_.emplace_back(place);
        tensors.fit(problem, workspace_bytes);
        tensors.upload(inputs);
    }
}

DeviceTensors& RotatingTensors::next() {
    turn_ = (turn_ + 1) % copies_.size();
    return copies_[turn_];
}

}  // namespace msda
