// One row of a benchmark: the times of a problem on a device, and what they mean against the bytes it must move.
#pragma once

#include <optional>

#include "runtime/bench/ceilings.hpp"
#include "runtime/measure/timer.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"

namespace msda {

// Bytes that a launch asks for, counted from the problem alone.
struct Traffic {
    double gather = 0;      // corner rows of value, each time they are read: 4 a point (1 for nearest)
    double scatter = 0;     // corner rows added to grad_value, in the value's own type
    double compulsory = 0;  // every tensor read or written once
};
Traffic traffic_of(const Problem& problem);

// What to measure of one problem.
struct MeasureSettings {
    bool cold = true;
    bool warm = true;
    bool verify = true;
    TimingSettings timing{.submission = Submission::graph};
};

struct Measurement {
    std::optional<Timing> cold, warm;
    std::optional<Verification> verification;
    std::optional<double> host_us;  // host time of one launch() while the GPU is held back; on a GPU only
};

// Measures problems one after another on one device, keeping what can be kept. Not thread-safe.
class Measurer {
  public:
    // `runtime` must outlive this object.
    Measurer(Runtime& runtime, const DevicePlace& place);

    // Verifies first, then times; `op` is prepared for the problem whose tensors `inputs` are. Throws
    // Error(driver_failed, out_of_memory).
    Measurement measure(const Operator& op, const Inputs& inputs, const MeasureSettings& settings);

  private:
    double host_us(const Operator& op, RotatingTensors& copies);

    DevicePlace place_;
    DeviceTensors tensors_;
    Oracle oracle_;
    Timer timer_;
};

}  // namespace msda
