// operator.md's formulas, one after the other: five nested loops, everything read through its Type, no code shared with
// other paths.
#include <algorithm>
#include <cmath>

#include "runtime/numbers.hpp"
#include "runtime/reference/reference.hpp"

namespace msda {
namespace {

using std::int64_t;

// One point (b, q, m, l, p) with all that the formulas name.
struct NaivePoint {
    int64_t b = 0, q = 0, m = 0, l = 0, p = 0;
    int64_t index = 0;            // among (B, Q, M, ΣP)
    int64_t reference = -1;       // among all references; −1: none
    double a = 0;                 // weight
    double x = 0, y = 0;          // x_im, y_im (or the discrete coordinate)
    double dx = 1, dy = 1;        // d location / d offset, or 1
    double box_x = 0, box_y = 0;  // d location / d box size
};

class Naive {
  public:
    Naive(const Problem& problem, const Tensors& tensors) : p_(problem), t_(tensors) {}
    ReferenceResult run();

  private:
    double location_type(double v) const {
        return p_.value == Type::f64 ? v : static_cast<double>(static_cast<float>(v));
    }
    double weight(int64_t first, int64_t i) const;
    double axis(NaivePoint& n, int k, double extent) const;
    double value(const NaivePoint& n, int64_t y, int64_t x, int64_t d) const;
    bool inside(const NaivePoint& n, int64_t y, int64_t x) const {
        const Level& level = p_.levels[static_cast<std::size_t>(n.l)];
        return y >= 0 && y < level.height && x >= 0 && x < level.width;
    }
    // The corners of a point with their weights; the pixel of a discrete point with weight 1.
    struct Corner {
        int64_t y, x;
        double w;
    };
    std::vector<Corner> corners(const NaivePoint& n) const;
    void forward(const NaivePoint& n);
    void backward(const NaivePoint& n);
    void weight_gradient(const NaivePoint& n, double d_weight);
    int64_t reference_of(const NaivePoint& n) const;

    const Problem& p_;
    const Tensors& t_;
    ReferenceResult r_;
};

double Naive::weight(int64_t first, int64_t i) const {
    const double own = host::read(p_.weight, t_.weights, first + i);
    if (!p_.softmax) return own;
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < p_.total_points(); j++)
        largest = std::max(largest, host::read(p_.weight, t_.weights, first + j));
    for (int64_t j = 0; j < p_.total_points(); j++)
        sum += std::exp(host::read(p_.weight, t_.weights, first + j) - largest);
    return std::exp(own - largest) / sum;
}

// The rounded image coordinate along axis k (0: x); fills in the derivatives of the fused references.
double Naive::axis(NaivePoint& n, int k, double extent) const {
    double location = host::read(p_.location, t_.locations, 2 * n.index + k);
    const double offset = location;
    double& to_offset = k == 0 ? n.dx : n.dy;
    double& to_size = k == 0 ? n.box_x : n.box_y;
    to_offset = 1;
    if (p_.reference == Reference::boxes) {
        const double centre = host::read(p_.location, t_.references, 4 * n.reference + k);
        const double size = host::read(p_.location, t_.references, 4 * n.reference + 2 + k);
        const auto points = static_cast<double>(p_.points[static_cast<std::size_t>(n.l)]);
        const double share = location_type(location_type(offset / points) * size);
        location = location_type(centre + share * 0.5);
        to_offset = size / points * 0.5;
        to_size = offset / points * 0.5;
    } else if (p_.reference != Reference::none) {
        const double centre = host::read(p_.location, t_.references, 2 * n.reference + k);
        location = location_type(centre + location_type(offset / extent));
        to_offset = 1 / extent;
    }
    const auto rounded = [&](double shift) {
        if (p_.value == Type::f64) return std::fma(location, extent, shift);
        return static_cast<double>(
            std::fma(static_cast<float>(location), static_cast<float>(extent), static_cast<float>(shift)));
    };
    switch (p_.sampling) {
        case Sampling::bilinear:
            return rounded(-0.5);
        case Sampling::nearest:
            return std::floor(rounded(0));
        case Sampling::rtdetrv2:
        case Sampling::rtdetrv2_square:
            break;
    }
    const Level& level = p_.levels[static_cast<std::size_t>(n.l)];
    int64_t limit = k == 0 ? level.width - 1 : level.height - 1;
    if (p_.sampling == Sampling::rtdetrv2_square) limit = std::min(limit, level.height - 1);
    const double coordinate = rounded(0.5);
    return std::isnan(coordinate) ? coordinate : std::clamp(std::trunc(coordinate), 0.0, static_cast<double>(limit));
}

double Naive::value(const NaivePoint& n, int64_t y, int64_t x, int64_t d) const {
    const Level& level = p_.levels[static_cast<std::size_t>(n.l)];
    const auto [image, pixel, head] = p_.strides();
    const double v =
        host::read(p_.value, t_.value, n.b * image + (level.start + y * level.width + x) * pixel + n.m * head + d);
    return p_.value == Type::e4m3 ? v * host::read(Type::f32, t_.scales, n.m) : v;
}

std::vector<Naive::Corner> Naive::corners(const NaivePoint& n) const {
    const Level& level = p_.levels[static_cast<std::size_t>(n.l)];
    std::vector<Corner> all;
    if (p_.sampling != Sampling::bilinear) {
        if (n.x >= 0 && n.x < static_cast<double>(level.width) && n.y >= 0 && n.y < static_cast<double>(level.height))
            all.push_back({static_cast<int64_t>(n.y), static_cast<int64_t>(n.x), 1});
        return all;
    }
    if (!(-1 < n.x && n.x < static_cast<double>(level.width) && -1 < n.y && n.y < static_cast<double>(level.height)))
        return all;
    const double lx = n.x - std::floor(n.x), ly = n.y - std::floor(n.y);
    const auto x0 = static_cast<int64_t>(std::floor(n.x)), y0 = static_cast<int64_t>(std::floor(n.y));
    all = {{y0, x0, (1 - lx) * (1 - ly)},
           {y0, x0 + 1, lx * (1 - ly)},
           {y0 + 1, x0, (1 - lx) * ly},
           {y0 + 1, x0 + 1, lx * ly}};
    std::erase_if(all, [&](const Corner& c) { return !inside(n, c.y, c.x); });
    return all;
}

void Naive::forward(const NaivePoint& n) {
    for (const Corner& c : corners(n))
        for (int64_t d = 0; d < p_.head_dim; d++)
            r_.output[static_cast<std::size_t>(((n.b * p_.queries + n.q) * p_.heads + n.m) * p_.head_dim + d)] +=
                n.a * c.w * value(n, c.y, c.x, d);
}

void Naive::backward(const NaivePoint& n) {
    const Level& level = p_.levels[static_cast<std::size_t>(n.l)];
    const auto index = static_cast<std::size_t>(n.index);
    const double lx = n.x - std::floor(n.x), ly = n.y - std::floor(n.y);
    double d_weight = 0, d_x = 0, d_y = 0;
    for (const Corner& c : corners(n)) {
        // d w_c / d x_im and d w_c / d y_im.
        const bool right = static_cast<double>(c.x) > n.x, below = static_cast<double>(c.y) > n.y;
        const double slope_x = (right ? 1 : -1) * (below ? ly : 1 - ly),
                     slope_y = (below ? 1 : -1) * (right ? lx : 1 - lx);
        for (int64_t d = 0; d < p_.head_dim; d++) {
            const double g =
                host::read(p_.output, t_.grad_output, ((n.b * p_.queries + n.q) * p_.heads + n.m) * p_.head_dim + d);
            const double v = value(n, c.y, c.x, d);
            d_weight += g * v * c.w;
            d_x += n.a * static_cast<double>(level.width) * g * v * slope_x;
            d_y += n.a * static_cast<double>(level.height) * g * v * slope_y;
            const int64_t pixel = n.b * p_.pixels + level.start + c.y * level.width + c.x;
            r_.grad_value[static_cast<std::size_t>((pixel * p_.heads + n.m) * p_.head_dim + d)] += n.a * c.w * g;
        }
    }
    if (p_.sampling != Sampling::bilinear) d_x = d_y = 0;
    weight_gradient(n, d_weight);
    if (corners(n).empty()) return;
    r_.grad_locations[2 * index] = d_x * n.dx;
    r_.grad_locations[2 * index + 1] = d_y * n.dy;
    if (n.reference < 0 || p_.sampling != Sampling::bilinear) return;
    double* reference = r_.grad_references.data() + n.reference * (p_.reference == Reference::boxes ? 4 : 2);
    reference[0] += d_x;
    reference[1] += d_y;
    if (p_.reference != Reference::boxes) return;
    reference[2] += d_x * n.box_x;
    reference[3] += d_y * n.box_y;
}

void Naive::weight_gradient(const NaivePoint& n, double d_weight) {
    if (!p_.softmax) {
        r_.grad_weights[static_cast<std::size_t>(n.index)] = d_weight;
        return;
    }
    const int64_t first = n.index - n.index % p_.total_points();
    for (int64_t i = 0; i < p_.total_points(); i++) {  // d a_j / d logit_i = a_j (δ_ij − a_i)
        const double delta = first + i == n.index ? 1 : 0;
        r_.grad_weights[static_cast<std::size_t>(first + i)] += d_weight * n.a * (delta - weight(first, i));
    }
}

// Index of the reference of a point among all, −1 without references.
int64_t Naive::reference_of(const NaivePoint& n) const {
    const int64_t row = n.b * p_.queries + n.q;
    switch (p_.reference) {
        case Reference::none:
            return -1;
        case Reference::pillars:
            return row * p_.pillars + n.p % p_.pillars;
        case Reference::points:
        case Reference::boxes:
            break;
    }
    return p_.reference_levels == 1 ? row : row * p_.reference_levels + n.l;
}

ReferenceResult Naive::run() {
    const Sizes size = sizes(p_);
    const auto zeros = [](int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); };
    r_ = {zeros(size.output), zeros(p_.batch * p_.pixels * p_.heads * p_.head_dim), zeros(size.locations),
          zeros(size.weights), zeros(size.references)};
    int64_t index = 0;
    for (int64_t b = 0; b < p_.batch; b++)
        for (int64_t q = 0; q < p_.queries; q++)
            for (int64_t m = 0; m < p_.heads; m++)
                for (int64_t l = 0; l < static_cast<int64_t>(p_.levels.size()); l++)
                    for (int64_t p = 0; p < p_.points[static_cast<std::size_t>(l)]; p++, index++) {
                        NaivePoint n{.b = b, .q = q, .m = m, .l = l, .p = p, .index = index};
                        const Level& level = p_.levels[static_cast<std::size_t>(l)];
                        n.reference = reference_of(n);
                        n.a = weight(index - index % p_.total_points(), index % p_.total_points());
                        n.x = axis(n, 0, static_cast<double>(level.width));
                        n.y = axis(n, 1, static_cast<double>(level.height));
                        p_.pass == Pass::forward ? forward(n) : backward(n);
                    }
    if (p_.pass == Pass::forward) {
        ReferenceResult forward;
        forward.output = r_.output;
        return forward;
    }
    r_.output.clear();
    if (!p_.gradients.value) r_.grad_value.clear();
    if (!p_.gradients.weight) r_.grad_weights.clear();
    if (!p_.gradients.location) r_.grad_locations.clear(), r_.grad_references.clear();
    return r_;
}

}  // namespace

ReferenceResult compute_naive(const Problem& problem, const Tensors& tensors) { return Naive(problem, tensors).run(); }

}  // namespace msda
