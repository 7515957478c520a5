// Robust statistics of timings: a few samples are far too long (other work, clock changes) and must not count.
#pragma once

#include <span>

namespace msda {

// Middle value, mean of both middles for an even count; 0 for no values. Copies and sorts.
double median(std::span<const double> values);

// Median absolute deviation from the median, not scaled.
double median_absolute_deviation(std::span<const double> values);

// Where a set of values lies and how sure that is.
struct Location {
    double center = 0;
    double error = 0;  // standard error of center; infinite below 4 values
    int count = 0;
};

// Mean of the middle half (25 % trimmed mean) with its standard error from the winsorised variance (Tukey & McLaughlin
// 1963). As deaf to 2 % of spikes as the median, and it needs a quarter fewer samples for the same error on normal
// noise.
Location middle_mean(std::span<const double> values);

}  // namespace msda
