// A track without a GPU, for `msda tune --simulate`: times come from a smooth made-up cost of the config, with noise.
// It lets scripts, schedulers and tests run the whole way from search to merged database on any machine.
#pragma once

#include <map>
#include <random>

#include "runtime/tuner/track.hpp"

namespace msda {

// The silicon of simulated records: Silicon's default, with the partition "simulated", so that they never answer for a
// GPU.
Silicon simulated_silicon();

class SimulatedTrack final : public Track {
  public:
    void open(const Problem& problem, const TrackSettings& settings) override;
    void load(int candidate, const Config& config, const Binary& binary) override;
    void unload(int candidate) override;
    std::string verify(int candidate) override;
    Sample measure(int candidate, bool warm) override;
    int memory_mhz() override { return 0; }

    // The true cost in µs of a config for a problem, warm and without noise; deterministic.
    static double cost_us(const Problem& problem, const Config& config);

  private:
    Problem problem_;
    std::size_t kinds_ = 0;
    std::mt19937_64 random_;
    std::map<int, Config> loaded_;
};

}  // namespace msda
