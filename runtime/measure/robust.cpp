// Median, MAD and the mean of the middle half.
#include "runtime/measure/robust.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace msda {

double median(std::span<const double> values) {
    if (values.empty()) return 0;
    std::vector<double> sorted(values.begin(), values.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    if (sorted.size() % 2) return *middle;
    return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

double median_absolute_deviation(std::span<const double> values) {
    const double center = median(values);
    std::vector<double> deviations;
    for (const double value : values) deviations.push_back(std::abs(value - center));
    return median(deviations);
}

Location middle_mean(std::span<const double> values) {
    Location result{0, std::numeric_limits<double>::infinity(), static_cast<int>(values.size())};
    if (values.empty()) return result;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t cut = sorted.size() / 4;
    const std::size_t kept = sorted.size() - 2 * cut;
    for (std::size_t i = cut; i < cut + kept; i++) result.center += sorted[i] / static_cast<double>(kept);
    if (sorted.size() < 4) return result;

    const double n = static_cast<double>(sorted.size());
    double mean = 0;
    for (double& value : sorted) {
        value = std::clamp(value, sorted[cut], sorted[cut + kept - 1]);
        mean += value / n;
    }
    double variance = 0;
    for (const double value : sorted) variance += (value - mean) * (value - mean) / (n - 1);
    result.error = std::sqrt(variance / n) * n / static_cast<double>(kept);
    return result;
}

}  // namespace msda
