// Cost and noise of the simulated device.
#include "runtime/tuner/simulated_track.hpp"

#include <cmath>

#include "tuning_db/silicon_key.hpp"

namespace msda {
namespace {

// A penalty that grows with the distance, in powers of two, from the best value of a field.
double valley(int value, double best, double depth) {
    return 1 + depth * std::abs(std::log2(value + 1.0) - std::log2(best + 1.0));
}

}  // namespace

Silicon simulated_silicon() {
    Silicon silicon;
    silicon.partition = std::string(simulated_partition);
    return silicon;
}

double SimulatedTrack::cost_us(const Problem& problem, const Config& config) {
    const double work = static_cast<double>(problem.batch) * static_cast<double>(problem.queries) *
                        static_cast<double>(problem.heads) * static_cast<double>(problem.head_dim) *
                        static_cast<double>(problem.total_points());
    const double floor_us = 2 + work * static_cast<double>(bytes_of(problem.value)) * 4 / 8e6;
    return floor_us * valley(config.unroll, 4, 0.1) * valley(config.lanes, 4, 0.15) *
           valley(config.tile_width, 24, 0.04) * valley(config.heads, 2, 0.03) * valley(config.threads, 256, 0.05) *
           valley(config.split, 1, 0.05);
}

void SimulatedTrack::open(const Problem& problem, const TrackSettings& settings) {
    problem_ = problem;
    kinds_ = settings.data.size();
    random_.seed(settings.seed);
    loaded_.clear();
}

void SimulatedTrack::load(int candidate, const Config& config, const Binary&) { loaded_[candidate] = config; }
void SimulatedTrack::unload(int candidate) { loaded_.erase(candidate); }

std::string SimulatedTrack::verify(int candidate) { return loaded_.contains(candidate) ? "" : "not loaded"; }

Sample SimulatedTrack::measure(int candidate, bool warm) {
    std::normal_distribution<double> noise(0, 0.01);
    Sample sample;
    for (std::size_t kind = 0; kind < kinds_; kind++)
        sample.us.push_back(cost_us(problem_, loaded_.at(candidate)) * (warm ? 0.7 : 1) *
                            (1 + 0.1 * static_cast<double>(kind)) * std::exp(noise(random_)));
    return sample;
}

}  // namespace msda
