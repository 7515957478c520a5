// Throttle detection from the clocks of recent samples.
#include "runtime/tuner/clock_filter.hpp"

#include <vector>

#include "runtime/measure/robust.hpp"

namespace msda {
namespace {

constexpr std::size_t window = 32;
constexpr double lowest = 0.95;  // boost clocks move by one or two steps of 15 MHz in 1980 without any throttling

}  // namespace

bool ClockFilter::accepts(int mhz) {
    if (mhz <= 0) return true;
    const bool accepted = mhz >= lowest * normal();
    recent_.push_back(mhz);
    if (recent_.size() > window) recent_.pop_front();
    return accepted;
}

int ClockFilter::normal() const {
    const std::vector<double> clocks(recent_.begin(), recent_.end());
    return static_cast<int>(median(clocks));
}

}  // namespace msda
