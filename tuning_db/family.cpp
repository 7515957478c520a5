// Family text and size distance.
#include "tuning_db/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace msda {
namespace {

// log2 in half steps; 0 counts as 1, so an empty problem has a place too.
double bucket(double count) { return std::round(2 * std::log2(std::max(count, 1.0))) / 2; }

double work(const Problem& p) { return static_cast<double>(p.batch) * static_cast<double>(p.queries); }

}  // namespace

std::string family_of(const Problem& p) {
    const Gradients none{false, false, false};
    const Gradients g = p.pass == Pass::backward ? p.gradients : none;
    return fmt::format(
        "{} M={} D={} points={} {}/{}/{}/{} {} softmax={} {}:{}:{} gradients={:d}{:d}{:d} {} encoder={:d}",
        name(p.pass), p.heads, p.head_dim, fmt::join(p.points, ","), name(p.value), name(p.location), name(p.weight),
        name(p.output), name(p.sampling), p.softmax, name(p.reference), p.reference_levels, p.pillars, g.value,
        g.location, g.weight, p.pass == Pass::backward ? name(p.accumulate) : "none", p.encoder_like());
}

double distance(const Problem& a, const Problem& b) {
    const double size = std::abs(bucket(work(a)) - bucket(work(b))) +
                        std::abs(bucket(static_cast<double>(a.pixels)) - bucket(static_cast<double>(b.pixels)));
    const int differences =
        (a.value_strides != b.value_strides) + (a.alignment != b.alignment) + (a.specialise != b.specialise);
    return size + 0.25 * differences;
}

}  // namespace msda
