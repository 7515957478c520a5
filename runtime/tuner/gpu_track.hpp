// The track on a GPU of this process.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "runtime/measure/clocks.hpp"
#include "runtime/measure/timer.hpp"
#include "runtime/tuner/track.hpp"
#include "runtime/verify/device_reference.hpp"

namespace msda {

// A fault here is final, as it is for every CUDA context: what follows throws Error. `runtime` must outlive this
// object.
class GpuTrack final : public Track {
  public:
    explicit GpuTrack(Runtime& runtime) : runtime_(runtime) {}
    ~GpuTrack() override;

    void open(const Problem& problem, const TrackSettings& settings) override;
    void load(int candidate, const Config& config, const Binary& binary) override;
    void unload(int candidate) override;
    std::string verify(int candidate) override;
    Sample measure(int candidate, bool warm) override;
    int memory_mhz() override { return clocks_.memory_mhz(); }

  private:
    struct Entrant {
        Operator op;
        std::vector<int> launches;  // of a batch, by kind of data; 0: not known yet
    };
    Entrant& entrant(int candidate);
    double batch(Entrant& entrant, std::size_t kind, bool warm);
    void sweep();

    Runtime& runtime_;
    Problem problem_;
    DevicePlace place_;
    Clocks clocks_;
    std::optional<Timer> timer_;
    std::vector<std::unique_ptr<RotatingTensors>> data_;
    ReferenceResult reference_;
    std::optional<DeviceReference> device_reference_;
    Outputs outputs_;  // of the candidate that the host judged last
    std::map<int, Entrant> entrants_;
};

}  // namespace msda
