// A track whose candidates misbehave by script: wrong results, faults, hangs; and that counts what is loaded.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "msda/error.hpp"
#include "runtime/tuner/track.hpp"

namespace msda::test {

class ScriptedTrack : public Track {
  public:
    std::map<int, double> us;  // by candidate; 100 where nothing is said
    std::set<int> wrong;
    std::set<int> faulting;
    std::set<int> unloadable;

    int loads = 0;
    int unloads = 0;
    int opens = 0;
    std::size_t most_live = 0;

    void open(const Problem&, const TrackSettings& settings) override {
        opens++;
        kinds_ = settings.data.size();
    }
    void load(int candidate, const Config&, const Binary&) override {
        if (unloadable.contains(candidate)) throw Error(Code::unsupported, "too much shared memory");
        loads++;
        live_.insert(candidate);
        most_live = std::max(most_live, live_.size());
    }
    void unload(int candidate) override { unloads += static_cast<int>(live_.erase(candidate)); }
    std::string verify(int candidate) override {
        if (faulting.contains(candidate)) fault("CUDA_ERROR_ILLEGAL_ADDRESS");
        return wrong.contains(candidate) ? "output: norm error 0.3, expected at most 0.0005" : "";
    }
    Sample measure(int candidate, bool warm) override {
        const double time = us.contains(candidate) ? us[candidate] : 100;
        // A ripple of 1 % that depends on nothing but the number of the measurement.
        const double ripple = 1 + 0.01 * std::sin(12.9898 * ++measured_);
        return {std::vector<double>(kinds_, time * ripple * (warm ? 0.8 : 1)), 1980};
    }
    int memory_mhz() override { return 3201; }
    std::size_t live() const { return live_.size(); }

  protected:
    [[noreturn]] void fault(const std::string& why) {
        live_.clear();
        throw DeviceFault(why);
    }

  private:
    std::set<int> live_;
    std::size_t kinds_ = 0;
    int measured_ = 0;
};

}  // namespace msda::test
