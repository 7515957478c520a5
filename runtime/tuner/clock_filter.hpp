// Tells samples of a throttled GPU from normal ones by the SM clock.
#pragma once

#include <deque>

namespace msda {

// Normal is the median clock of the last samples, so a GPU that stays slow becomes normal in time and a search under a
// power cap still ends.
class ClockFilter {
  public:
    // True when a sample taken at `mhz` counts; false when the clock was more than 5 % below normal. 0: unknown,
    // counts.
    bool accepts(int mhz);

    // The normal clock in MHz; 0 before the first sample.
    int normal() const;

  private:
    std::deque<double> recent_;
};

}  // namespace msda
