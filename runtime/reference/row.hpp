// The sampling points of one (image, query, head), prepared in double precision for the reference.
#pragma once

#include <array>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/sampling.hpp"

namespace msda {

// One sampling point: what it weighs, which pixels it touches and how much of each.
struct ReferencePoint {
    const host::Place* level = nullptr;
    double weight = 0;                       // after the softmax
    host::Footprint<double> at;              // valid == 0: takes no part
    std::array<std::int64_t, 4> pixel = {};  // of each valid corner, on the S axis
    std::array<double, 4> corner = {};       // w_c of each valid corner
    std::array<double, 2> offset = {};       // as given, with references
    std::int64_t reference = 0;              // its reference among the query's own
};

// Reads rows of a problem's locations, weights and references. Holds references to both arguments.
class ReferenceRow {
  public:
    ReferenceRow(const Problem& problem, const Tensors& tensors);
    // The ΣP points of row (image, query, head), level by level; `points` is reused between calls.
    void read(std::int64_t image, std::int64_t query, std::int64_t head, std::vector<ReferencePoint>& points) const;

    // Component k (x, y, width, height) of reference i of a query, rounded to the type x_im is computed in.
    double reference(std::int64_t image, std::int64_t query, std::int64_t i, std::int64_t k) const;

  private:
    template <class C>
    void place(std::int64_t image, std::int64_t query, std::int64_t at, ReferencePoint& point, std::int64_t p) const;
    void softmax(std::vector<ReferencePoint>& points) const;

    const Problem& problem_;
    const Tensors& tensors_;
    std::vector<host::Place> places_;
    std::int64_t points_;
};

}  // namespace msda
