// Locations to pixels and logits to weights, in double after the one rounding of x_im.
#include "runtime/reference/row.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/numbers.hpp"

namespace msda {

using std::int64_t;

ReferenceRow::ReferenceRow(const Problem& problem, const Tensors& tensors)
    : problem_(problem), tensors_(tensors), places_(host::places(problem)), points_(problem.total_points()) {}

double ReferenceRow::reference(int64_t image, int64_t query, int64_t i, int64_t k) const {
    const int64_t row = (image * problem_.queries + query) * host::references_per_query(problem_) + i;
    return host::read(problem_.location, tensors_.references, row * host::reference_components(problem_) + k);
}

template <class C>
void ReferenceRow::place(int64_t image, int64_t query, int64_t at, ReferencePoint& point, int64_t p) const {
    const host::Place& level = *point.level;
    const std::array<int64_t, 2> extent = {level.width, level.height};
    point.reference = host::reference_of(problem_, &level - places_.data(), p);
    std::array<C, 2> coordinate;
    for (std::size_t axis = 0; axis < 2; axis++) {
        const auto k = static_cast<int64_t>(axis);
        auto location = static_cast<C>(host::read(problem_.location, tensors_.locations, 2 * at + k));
        if (problem_.reference != Reference::none) {
            point.offset[axis] = static_cast<double>(location);
            const auto centre = static_cast<C>(reference(image, query, point.reference, k));
            if (problem_.reference == Reference::boxes)
                location = host::box_location_of(
                    centre, static_cast<C>(reference(image, query, point.reference, 2 + k)), location, level.points);
            else
                location = host::location_of(centre, location, extent[axis]);
        }
        coordinate[axis] = host::image_coordinate(problem_.sampling, location, extent[axis]);
    }
    point.at = host::footprint<double>(problem_.sampling, coordinate[0], coordinate[1], level);
}

void ReferenceRow::softmax(std::vector<ReferencePoint>& points) const {
    double largest = -INFINITY;
    for (const ReferencePoint& point : points) largest = std::max(largest, point.weight);
    double sum = 0;
    for (ReferencePoint& point : points) sum += point.weight = std::exp(point.weight - largest);
    for (ReferencePoint& point : points) point.weight /= sum;
}

void ReferenceRow::read(int64_t image, int64_t query, int64_t head, std::vector<ReferencePoint>& points) const {
    points.resize(static_cast<std::size_t>(points_));
    const int64_t row = (image * problem_.queries + query) * problem_.heads + head;
    auto point = points.begin();
    for (const host::Place& level : places_)
        for (int64_t p = 0; p < level.points; p++, ++point) {
            const int64_t at = row * points_ + level.first_point + p;
            point->level = &level;
            point->weight = host::read(problem_.weight, tensors_.weights, at);
            if (problem_.value == Type::f64)
                place<double>(image, query, at, *point, p);
            else
                place<float>(image, query, at, *point, p);
            for (int c = 0; c < 4; c++) {
                if (!(point->at.valid >> c & 1u)) continue;
                const auto i = static_cast<std::size_t>(c);
                point->pixel[i] = level.start + (point->at.y0 + c / 2) * level.width + point->at.x0 + c % 2;
                point->corner[i] = host::corner_weight(problem_.sampling, point->at, c);
            }
        }
    if (problem_.softmax) softmax(points);
}

}  // namespace msda
