// The learner's operator of lab 10 behind its C-like face: its configs, its source, and a device for the project's tuner
// that runs it in the emulation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "labs/common/lab_operator.hpp"
#include "runtime/emulation/emulator.hpp"
#include "runtime/tuner/track.hpp"
#include "tools/cases/problems.hpp"
#include "tools/lab/checks.hpp"

namespace msda::lab {

// The functions that the learner's module exports.
class ShippedOperator {
  public:
    explicit ShippedOperator(const Attempt& attempt);

    // True for problems that LabProblem can say.
    static bool can_say(const Problem& problem);
    static LabProblem say(const Problem& problem);

    // Throws Failed when a space is empty, longer than 64, or holds a config that no kernel could run.
    std::vector<LabConfig> space(const Problem& problem) const;
    std::string emit(const Problem& problem, const LabConfig& config) const;
    std::int64_t blocks(const Problem& problem, const LabConfig& config) const;
    // One launch of the emitted kernel.
    Plan plan(const Problem& problem, const LabConfig& config) const;
    // Flags that the emitted source is compiled with.
    const std::vector<std::string>& flags() const { return flags_; }

  private:
    int (*space_)(const LabProblem*, LabConfig*, int);
    int (*emit_)(const LabProblem*, const LabConfig*, char*, int);
    long long (*blocks_)(const LabProblem*, const LabConfig*);
    const std::vector<std::string>& flags_;
};

// "vector 16, threads 128".
std::string text_of(const LabConfig& config);

// The same as a row of the project's table, and back; the fields that the learner's configs do not have stay at their
// defaults.
Config to_config(const LabConfig& config);
LabConfig to_lab(const Config& config);

// A track that runs the operator in the emulation. A sample is a modelled time (README.md of lab 10 says how) with noise
// of one percent.
class EmulatedTrack final : public Track {
  public:
    EmulatedTrack(const ShippedOperator& shipped, Emulator& emulator) : shipped_(shipped), emulator_(emulator) {}
    void open(const Problem& problem, const TrackSettings& settings) override;
    void load(int candidate, const Config& config, const Binary& binary) override;
    void unload(int candidate) override { loaded_.erase(candidate); }
    std::string verify(int candidate) override;
    Sample measure(int candidate, bool warm) override;
    int memory_mhz() override { return 0; }

    // The times without noise, of each candidate that was verified.
    const std::map<int, double>& times_us() const { return times_; }

  private:
    const ShippedOperator& shipped_;
    Emulator& emulator_;
    Problem problem_;
    std::size_t kinds_ = 0;
    std::uint64_t turn_ = 0;
    std::map<int, Config> loaded_;
    std::map<int, double> times_;
};

// Runs one config on a scene; empty when the result agrees with the reference, else one sentence. `counts`, when given,
// receives what was counted.
std::string run_shipped(const ShippedOperator& shipped, Emulator& emulator, const Problem& problem,
                        const LabConfig& config, cases::Scene scene, emulation::Counts* counts = nullptr);

}  // namespace msda::lab
