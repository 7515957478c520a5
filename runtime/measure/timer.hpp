// Times of an operator: batches of launches between two events on one stream, cold (inputs rotate through 3 × L2) or
// warm (always the same inputs), until the median is settled. Used by the tuner, `msda bench` and `msda run`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/measure/rotating_tensors.hpp"

namespace msda {

// How a batch reaches the GPU. queue: launches behind a Blocker; modules can be unloaded afterwards. graph: one
// captured graph, replayed: what an application that captures would see; its modules stay loaded for good.
enum class Submission : std::uint8_t { queue, graph };

// How long to measure.
struct TimingSettings {
    bool warm = false;
    Submission submission = Submission::queue;
    double batch_us = 1000;  // launches are put together until a batch takes about this long
    int fewest_batches = 5;
    int most_batches = 50;
    double precision = 0.005;  // stop once the median's standard error is below this part of it
};

// Microseconds a launch.
struct Timing {
    double median_us = 0;
    double mad_us = 0;            // median absolute deviation over the batches
    std::vector<double> batches;  // µs a launch of each
    int launches = 0;             // of one batch
};

// Owns stream and events of one device; on the host it uses the steady clock. Not thread-safe.
class Timer {
  public:
    explicit Timer(const DevicePlace& place);
    ~Timer();
    Timer(Timer&&) noexcept;

    // How many launches make a batch of `batch_us`, at most 500 (a stream's queue holds 1024), from one launch each of
    // two warm-ups and a trial.
    int launches_for(const Operator& op, RotatingTensors& tensors, double batch_us);

    // One batch; µs a launch. Throws Error(driver_failed) where a kernel faulted.
    double batch(const Operator& op, RotatingTensors& tensors, int launches, bool warm);

    // Batches until settled. `op` and `tensors` are of one problem; the outputs hold results afterwards.
    Timing time(const Operator& op, RotatingTensors& tensors, const TimingSettings& settings = {});

    // The stream that batches run on; nullptr on the host.
    Stream stream() const;

  private:
    struct Gpu;
    double host_batch(const Operator& op, RotatingTensors& tensors, int launches, bool warm);
    Timing settle(const TimingSettings& settings, int launches, const std::function<double()>& one_batch);

    DevicePlace place_;
    std::unique_ptr<Gpu> gpu_;
};

}  // namespace msda
