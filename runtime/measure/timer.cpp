// Batches on a stream, and when to stop.
#include "runtime/measure/timer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "msda/error.hpp"
#include "runtime/measure/blocker.hpp"
#include "runtime/measure/robust.hpp"

namespace msda {
namespace {

constexpr int most_launches = 500;

Tensors addresses_of(RotatingTensors& tensors, bool warm) {
    return (warm ? tensors.first() : tensors.next()).addresses();
}

}  // namespace

struct Timer::Gpu {
    explicit Gpu(const std::shared_ptr<DeviceContext>& context)
        : stream(context), begin(context), end(context), blocker(context) {}

    // µs from before to after what `enqueue` puts on the stream, all queued before any of it runs.
    double between_events(const std::function<void()>& enqueue) {
        blocker.block(stream);
        try {
            begin.record(stream);
            enqueue();
            end.record(stream);
        } catch (...) {
            blocker.release();
            throw;
        }
        blocker.release();
        end.synchronize();
        return end.microseconds_since(begin);
    }

    DeviceStream stream;
    DeviceEvent begin;
    DeviceEvent end;
    Blocker blocker;
};

Timer::Timer(const DevicePlace& place) : place_(place) {
    if (place.context != nullptr) gpu_ = std::make_unique<Gpu>(place.context);
}
Timer::~Timer() = default;
Timer::Timer(Timer&&) noexcept = default;

Stream Timer::stream() const { return gpu_ ? static_cast<Stream>(gpu_->stream.handle()) : nullptr; }

double Timer::host_batch(const Operator& op, RotatingTensors& tensors, int launches, bool warm) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++) op.launch(addresses_of(tensors, warm));
    const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
    return passed.count() / launches;
}

double Timer::batch(const Operator& op, RotatingTensors& tensors, int launches, bool warm) {
    if (!gpu_) return host_batch(op, tensors, launches, warm);
    launches = std::clamp(launches, 1, most_launches);
    return gpu_->between_events([&] {
        for (int i = 0; i < launches; i++) op.launch(addresses_of(tensors, warm), stream());
    }) / launches;
}

int Timer::launches_for(const Operator& op, RotatingTensors& tensors, double batch_us) {
    for (int i = 0; i < 2 && gpu_; i++) batch(op, tensors, 1, false);
    const double us = std::max(batch(op, tensors, 1, false), 0.1);
    return static_cast<int>(std::clamp(batch_us / us, 1.0, static_cast<double>(most_launches)));
}

Timing Timer::settle(const TimingSettings& settings, int launches, const std::function<double()>& one_batch) {
    Timing timing;
    timing.launches = launches;
    while (static_cast<int>(timing.batches.size()) < std::max(1, settings.most_batches)) {
        timing.batches.push_back(one_batch());
        const double count = static_cast<double>(timing.batches.size());
        if (count < settings.fewest_batches) continue;
        timing.median_us = median(timing.batches);
        timing.mad_us = median_absolute_deviation(timing.batches);
        // Standard error of a median of normal samples: 1.2533 σ / √n, with σ = 1.4826 MAD.
        if (1.2533 * 1.4826 * timing.mad_us / std::sqrt(count) < settings.precision * timing.median_us) break;
    }
    timing.median_us = median(timing.batches);
    timing.mad_us = median_absolute_deviation(timing.batches);
    return timing;
}

Timing Timer::time(const Operator& op, RotatingTensors& tensors, const TimingSettings& settings) {
    int launches = launches_for(op, tensors, settings.batch_us);
    if (!gpu_ || settings.submission == Submission::queue || op.problem().empty())
        return settle(settings, launches, [&] { return batch(op, tensors, launches, settings.warm); });
    // A replay of the graph must not find its inputs in L2 either, so it holds every copy at least once.
    if (!settings.warm) launches = std::max(launches, static_cast<int>(tensors.copies()));
    const DeviceGraph graph(gpu_->stream, [&] {
        for (int i = 0; i < launches; i++) op.launch(addresses_of(tensors, settings.warm), stream());
    });
    graph.launch(gpu_->stream);  // the first replay uploads the graph
    gpu_->stream.synchronize();
    return settle(settings, launches,
                  [&] { return gpu_->between_events([&] { graph.launch(gpu_->stream); }) / launches; });
}

}  // namespace msda
