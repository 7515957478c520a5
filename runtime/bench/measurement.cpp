// Verification, then batches, then the host's share.
#include "runtime/bench/measurement.hpp"

#include <algorithm>
#include <chrono>

#include "generator/plan.hpp"
#include "runtime/measure/blocker.hpp"
#include "runtime/measure/robust.hpp"

namespace msda {

Traffic traffic_of(const Problem& p) {
    Traffic traffic;
    traffic.compulsory = static_cast<double>(tensor_bytes(p));
    if (p.empty()) return traffic;
    const double corners = p.sampling == Sampling::bilinear ? 4 : 1;
    const double rows = corners * static_cast<double>(sizes(p).weights);
    const double bytes = rows * static_cast<double>(p.head_dim) * static_cast<double>(bytes_of(p.value));
    const bool backward = p.pass == Pass::backward;
    if (!backward || p.gradients.location || p.gradients.weight) traffic.gather = bytes;
    if (backward && p.gradients.value) traffic.scatter = bytes;
    return traffic;
}

Measurer::Measurer(Runtime& runtime, const DevicePlace& place)
    : place_(place), tensors_(place), oracle_(runtime, place), timer_(place) {}

Measurement Measurer::measure(const Operator& op, const Inputs& inputs, const MeasureSettings& settings) {
    Measurement result;
    const Problem& problem = op.problem();
    if (settings.verify) {
        tensors_.fit(problem, op.workspace_bytes());
        tensors_.upload(inputs);
        result.verification = verify(op, tensors_, oracle_.compute(problem, inputs, tensors_));
    }
    RotatingTensors copies(place_, problem, inputs, op.workspace_bytes());
    TimingSettings timing = settings.timing;
    timing.warm = false;
    if (settings.cold) result.cold = timer_.time(op, copies, timing);
    timing.warm = true;
    if (settings.warm) result.warm = timer_.time(op, copies, timing);
    if (place_.context != nullptr && !problem.empty()) result.host_us = host_us(op, copies);
    return result;
}

double Measurer::host_us(const Operator& op, RotatingTensors& copies) {
    // A stream's queue holds about 1000 entries; beyond that a launch would wait for the GPU, which is held back.
    const std::size_t steps = std::max<std::size_t>(1, plan(op.problem(), op.config()).steps.size());
    const int launches = static_cast<int>(std::max<std::size_t>(1, 500 / steps));
    const DeviceStream stream(place_.context);
    Blocker blocker(place_.context);
    const Tensors addresses = copies.first().addresses();
    std::vector<double> samples;
    for (int i = 0; i < 7; i++) {
        blocker.block(stream);
        const auto start = std::chrono::steady_clock::now();
        try {
            for (int k = 0; k < launches; k++) op.launch(addresses, stream.handle());
        } catch (...) {
            blocker.release();
            throw;
        }
        const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
        blocker.release();
        stream.synchronize();
        samples.push_back(passed.count() / launches);
    }
    return median(samples);
}

}  // namespace msda
