// The device side of a search: candidates of one problem are loaded, judged and timed. Behind it stands a GPU in this
// process, a worker process that may die instead of us, or a simulation.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/compiler.hpp"
#include "runtime/tuner/search.hpp"

namespace msda {

// The candidate broke the device (illegal address, hang, dead process). The track is usable again when this arrives,
// with nothing loaded, or it throws Error from then on.
class DeviceFault : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// What a problem is measured on.
struct TrackSettings {
    int ordinal = 0;
    std::uint64_t seed = 1;                                // of the inputs
    std::vector<std::string> data = {"model", "uniform"};  // kinds of locations (runtime/inputs.hpp), or "captured"
    std::string captured;                                  // directory of the captured tensors (runtime/capture.hpp)
};

// Not thread-safe. Throws Error where the device cannot be used at all.
class Track {
  public:
    virtual ~Track() = default;

    // Makes inputs and reference of a normalised problem; drops what was there. Throws Error(not_prepared) while a
    // stream is being captured: nothing was touched and the capture is still valid.
    virtual void open(const Problem& problem, const TrackSettings& settings) = 0;

    // Loads a candidate's code, or removes it.
    virtual void load(int candidate, const Config& config, const Binary& binary) = 0;
    virtual void unload(int candidate) = 0;

    // Runs a loaded candidate on poisoned outputs. Empty: right; else one sentence. Throws DeviceFault.
    virtual std::string verify(int candidate) = 0;

    // Times a loaded candidate: µs for each kind of data. Throws DeviceFault.
    virtual Sample measure(int candidate, bool warm) = 0;

    // Memory clock in MHz; 0: unknown.
    virtual int memory_mhz() = 0;
};

}  // namespace msda
