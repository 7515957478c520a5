// Double-precision forward and backward. A row is the D channels of one (image, query, head).
#include "runtime/reference/reference.hpp"

#include <algorithm>

#include "runtime/numbers.hpp"
#include "runtime/parallel.hpp"
#include "runtime/reference/row.hpp"

namespace msda {
namespace {

using host::widen;
using std::int64_t;

std::vector<double> zeros(int64_t count) { return std::vector<double>(static_cast<std::size_t>(count)); }

// One launch of the reference: the problem, its tensors, and the loops over them.
class ReferenceLaunch {
  public:
    ReferenceLaunch(const Problem& problem, const Tensors& tensors, int threads)
        : p_(problem),
          t_(tensors),
          threads_(thread_count(threads)),
          rows_(problem, tensors),
          strides_(problem.strides()),
          points_(problem.total_points()) {}

    template <class V>
    std::vector<double> forward() const;
    template <class V>
    void point_gradients(ReferenceResult& result) const;
    std::vector<double> value_gradient() const;

  private:
    template <class V>
    std::vector<double> dots(const std::vector<ReferencePoint>& points, int64_t image, int64_t query,
                             int64_t head) const;
    void write_gradients(const std::vector<ReferencePoint>& points, const std::vector<double>& dot, int64_t image,
                         int64_t query, int64_t head, ReferenceResult& result) const;
    void write_reference_gradient(const ReferencePoint& point, const double (&d)[2], int64_t image, int64_t query,
                                  ReferenceResult& result) const;
    int64_t row(int64_t image, int64_t query, int64_t head) const {
        return (image * p_.queries + query) * p_.heads + head;
    }
    // Channel 0 of a pixel of value.
    template <class V>
    const V* channels(int64_t image, int64_t pixel, int64_t head) const {
        return static_cast<const V*>(t_.value) + image * strides_[0] + pixel * strides_[1] + head * strides_[2];
    }

    const Problem& p_;
    const Tensors& t_;
    int threads_;
    ReferenceRow rows_;
    std::array<int64_t, 3> strides_;
    int64_t points_;
};

template <class V>
std::vector<double> ReferenceLaunch::forward() const {
    std::vector<double> output = zeros(sizes(p_).output);
    parallel_for(threads_, p_.batch * p_.queries, 8, [&](int64_t begin, int64_t end, int) {
        std::vector<ReferencePoint> points;
        for (int64_t i = begin * p_.heads; i < end * p_.heads; i++) {
            const int64_t head = i % p_.heads, image = i / p_.heads / p_.queries, query = i / p_.heads % p_.queries;
            double* out = output.data() + i * p_.head_dim;
            rows_.read(image, query, head, points);
            for (const ReferencePoint& point : points)
                for (std::size_t c = 0; c < 4; c++) {
                    if (!(point.at.valid >> c & 1u)) continue;
                    const V* v = channels<V>(image, point.pixel[c], head);
                    const double w = point.weight * point.corner[c];
                    for (int64_t d = 0; d < p_.head_dim; d++) out[d] += w * static_cast<double>(widen(v[d]));
                }
            if (p_.value == Type::e4m3)
                for (int64_t d = 0; d < p_.head_dim; d++) out[d] *= host::read(Type::f32, t_.scales, head);
        }
    });
    return output;
}

// s_c = g · v_c of each valid corner, four a point.
template <class V>
std::vector<double> ReferenceLaunch::dots(const std::vector<ReferencePoint>& points, int64_t image, int64_t query,
                                          int64_t head) const {
    std::vector<double> dot(points.size() * 4);
    const V* g = static_cast<const V*>(t_.grad_output) + row(image, query, head) * p_.head_dim;
    for (std::size_t i = 0; i < points.size(); i++)
        for (std::size_t c = 0; c < 4; c++) {
            if (!(points[i].at.valid >> c & 1u)) continue;
            const V* v = channels<V>(image, points[i].pixel[c], head);
            for (int64_t d = 0; d < p_.head_dim; d++)
                dot[4 * i + c] += static_cast<double>(widen(g[d])) * static_cast<double>(widen(v[d]));
        }
    return dot;
}

void ReferenceLaunch::write_reference_gradient(const ReferencePoint& point, const double (&d)[2], int64_t image,
                                               int64_t query, ReferenceResult& result) const {
    const int64_t components = host::reference_components(p_);
    const int64_t reference = (image * p_.queries + query) * host::references_per_query(p_) + point.reference;
    double* out = result.grad_references.data() + reference * components;
    for (std::size_t axis = 0; axis < 2; axis++) {
        out[axis] += d[axis];
        if (components == 4)
            out[axis + 2] += d[axis] * point.offset[axis] / static_cast<double>(point.level->points) * 0.5;
    }
}

void ReferenceLaunch::write_gradients(const std::vector<ReferencePoint>& points, const std::vector<double>& dot,
                                      int64_t image, int64_t query, int64_t head, ReferenceResult& result) const {
    const int64_t first = row(image, query, head) * points_;
    double weighted = 0;  // Σ_j a_j · dL/da_j of the softmax
    for (std::size_t i = 0; i < points.size(); i++) {
        const ReferencePoint& point = points[i];
        const double* s = dot.data() + 4 * i;
        double d_weight = 0;
        for (std::size_t c = 0; c < 4; c++)
            if (point.at.valid >> c & 1u) d_weight += point.corner[c] * s[c];
        weighted += point.weight * d_weight;
        if (p_.gradients.weight) result.grad_weights[static_cast<std::size_t>(first) + i] = d_weight;
        if (!p_.gradients.location || point.at.valid == 0 || p_.sampling != Sampling::bilinear) continue;

        const double lx = point.at.lx, ly = point.at.ly;
        // d loss / d location of this point.
        const double d[2] = {
            point.weight * static_cast<double>(point.level->width) * ((s[1] - s[0]) * (1 - ly) + (s[3] - s[2]) * ly),
            point.weight * static_cast<double>(point.level->height) * ((s[2] - s[0]) * (1 - lx) + (s[3] - s[1]) * lx)};
        const double extent[2] = {static_cast<double>(point.level->width), static_cast<double>(point.level->height)};
        for (std::size_t axis = 0; axis < 2; axis++) {
            double scale = 1;  // d location / d offset
            if (p_.reference == Reference::boxes)
                scale = rows_.reference(image, query, point.reference, static_cast<int64_t>(axis) + 2) /
                        static_cast<double>(point.level->points) * 0.5;
            else if (p_.reference != Reference::none)
                scale = 1 / extent[axis];
            result.grad_locations[2 * (static_cast<std::size_t>(first) + i) + axis] = d[axis] * scale;
        }
        if (p_.reference != Reference::none) write_reference_gradient(point, d, image, query, result);
    }
    if (p_.gradients.weight && p_.softmax)
        for (std::size_t i = 0; i < points.size(); i++) {
            double& d = result.grad_weights[static_cast<std::size_t>(first) + i];
            d = points[i].weight * (d - weighted);
        }
}

template <class V>
void ReferenceLaunch::point_gradients(ReferenceResult& result) const {
    if (p_.gradients.location) {
        result.grad_locations = zeros(sizes(p_).locations);
        result.grad_references = zeros(sizes(p_).references);
    }
    if (p_.gradients.weight) result.grad_weights = zeros(sizes(p_).weights);
    parallel_for(threads_, p_.batch * p_.queries, 8, [&](int64_t begin, int64_t end, int) {
        std::vector<ReferencePoint> points;
        for (int64_t i = begin; i < end; i++)
            for (int64_t head = 0; head < p_.heads; head++) {
                const int64_t image = i / p_.queries, query = i % p_.queries;
                rows_.read(image, query, head, points);
                write_gradients(points, dots<V>(points, image, query, head), image, query, head, result);
            }
    });
}

// Each (image, head) is summed by one thread, queries in order.
std::vector<double> ReferenceLaunch::value_gradient() const {
    std::vector<double> gradient = zeros(p_.batch * p_.pixels * p_.heads * p_.head_dim);
    parallel_for(threads_, p_.batch * p_.heads, 1, [&](int64_t begin, int64_t end, int) {
        std::vector<ReferencePoint> points;
        std::vector<double> g = zeros(p_.head_dim);
        for (int64_t task = begin; task < end; task++)
            for (int64_t query = 0; query < p_.queries; query++) {
                const int64_t image = task / p_.heads, head = task % p_.heads;
                for (int64_t d = 0; d < p_.head_dim; d++)
                    g[static_cast<std::size_t>(d)] =
                        host::read(p_.output, t_.grad_output, row(image, query, head) * p_.head_dim + d);
                rows_.read(image, query, head, points);
                for (const ReferencePoint& point : points)
                    for (std::size_t c = 0; c < 4; c++) {
                        if (!(point.at.valid >> c & 1u)) continue;
                        const double w = point.weight * point.corner[c];
                        double* out =
                            gradient.data() + ((image * p_.pixels + point.pixel[c]) * p_.heads + head) * p_.head_dim;
                        for (std::size_t d = 0; d < g.size(); d++) out[d] += w * g[d];
                    }
            }
    });
    return gradient;
}

}  // namespace

ReferenceResult compute_reference(const Problem& problem, const Tensors& tensors, int threads) {
    const ReferenceLaunch launch(problem, tensors, threads);
    ReferenceResult result;
    host::visit(problem.value, [&](auto zero) {
        using V = decltype(zero);
        if (problem.pass == Pass::forward) {
            result.output = launch.forward<V>();
        } else if (problem.gradients.location || problem.gradients.weight) {
            launch.point_gradients<V>(result);
        }
    });
    if (problem.pass == Pass::backward && problem.gradients.value) result.grad_value = launch.value_gradient();
    return result;
}

}  // namespace msda
