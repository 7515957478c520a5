// Products are kept exact (few bits each) and sums have one rounding, so that fused multiply-adds of a compiler change
// nothing.
#include "runtime/locations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace msda {
namespace {

using std::int64_t;

// v as a multiple of 2^-20: what a library's last bit of a cosine may say is rounded away.
double coarse(double v) { return std::nearbyint(v * 0x1p20) * 0x1p-20; }

}  // namespace

LocationPattern::LocationPattern(const Problem& problem, Locations kind, std::uint64_t seed)
    : problem_(problem),
      shape_(Shape::uniform),
      encoder_(problem.encoder_like()),
      columns_(1),
      rows_(1),
      points_(seed, 3),
      boxes_(seed, 4) {
    const bool dense = encoder_ || problem.queries >= 4096;  // no decoder asks as many queries
    if (kind == Locations::model) shape_ = dense ? Shape::pixels : Shape::boxes;
    while (columns_ * columns_ < problem.queries) columns_++;
    if (problem.queries > 0) rows_ = (problem.queries - 1) / columns_ + 1;
    for (int64_t head = 0; head < problem.heads; head++) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(head) / static_cast<double>(problem.heads);
        direction_.push_back({coarse(std::cos(angle)), coarse(std::sin(angle))});
    }
}

// Sizes log-uniform from 1/32 to the whole image, each side by itself within a factor of 1.67; the box lies inside the
// image.
LocationPattern::Box LocationPattern::box(int64_t bq) const {
    Box b{};
    const double size = boxes_.octave(5 * bq, 5);
    for (std::size_t axis = 0; axis < 2; axis++) {
        const int64_t i = 5 * bq + 1 + 2 * static_cast<int64_t>(axis);
        b.size[axis] = std::min(1.0, coarse(size * (0.75 + 0.5 * boxes_.uniform(i))));
        b.centre[axis] = 0.5 * b.size[axis] + boxes_.uniform(i + 1) * (1 - b.size[axis]);
    }
    return b;
}

double LocationPattern::centre(int64_t bq, int axis) const {
    if (shape_ == Shape::boxes) return box(bq).centre[static_cast<std::size_t>(axis)];
    if (shape_ == Shape::uniform) return boxes_.uniform(5 * bq + axis);
    const int64_t query = bq % problem_.queries;
    int64_t width = columns_, height = rows_, first = 0;
    if (encoder_)
        for (const Level& level : problem_.levels)
            if (query >= level.start) width = level.width, height = level.height, first = level.start;
    const int64_t place = axis == 0 ? (query - first) % width : (query - first) / width;
    return (static_cast<double>(place) + 0.5) / static_cast<double>(axis == 0 ? width : height);
}

// In pixels of the level, or in P-ths of half a box where boxes are asked for.
double LocationPattern::offset(int64_t head, int64_t l, int64_t p, int64_t at, int axis) const {
    const double noise = points_.normal(2 * at + axis);
    const auto points = static_cast<double>(problem_.points[static_cast<std::size_t>(l)]);
    const double ring =
        static_cast<double>(p + 1) * direction_[static_cast<std::size_t>(head)][static_cast<std::size_t>(axis)];
    const bool of_box =
        problem_.reference == Reference::boxes || (problem_.reference == Reference::none && shape_ == Shape::boxes);
    if (of_box) return shape_ == Shape::uniform ? points * noise : ring + 0.5 * noise;
    if (shape_ == Shape::uniform) return 2 * noise;
    return 0.75 * ring + 68813 * 0x1p-16 * noise;  // 1.05
}

double LocationPattern::reference(int64_t bq, int64_t i, int64_t k) const {
    if (k >= 2) return box(bq).size[static_cast<std::size_t>(k - 2)];
    const double at = centre(bq, static_cast<int>(k));
    // A pillar's heights project onto one image column.
    if (problem_.reference == Reference::pillars && k == 1)
        return at + static_cast<double>(2 * i - problem_.pillars + 1) * 0x1p-5;
    return at;
}

double LocationPattern::coordinate(int64_t bq, int64_t head, int64_t l, int64_t p, int64_t at, int axis) const {
    if (problem_.reference != Reference::none) return offset(head, l, p, at, axis);
    if (shape_ == Shape::uniform) return points_.uniform(2 * at + axis);
    const double shift = offset(head, l, p, at, axis);
    const auto i = static_cast<std::size_t>(l);
    if (shape_ == Shape::boxes) {
        const Box b = box(bq);
        const auto side = static_cast<std::size_t>(axis);
        return b.centre[side] + shift / static_cast<double>(problem_.points[i]) * b.size[side] * 0.5;
    }
    const Level& level = problem_.levels[i];
    return centre(bq, axis) + shift / static_cast<double>(axis == 0 ? level.width : level.height);
}

}  // namespace msda
