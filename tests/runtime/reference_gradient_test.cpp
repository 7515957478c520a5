// The chain of trust, second link: gradients of the reference against central differences of its forward in f64, away
// from pixel borders.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/reference/reference.hpp"
#include "runtime/sampling.hpp"
#include "tests/runtime/random_problem.hpp"

namespace {

using namespace msda;
using std::int64_t;

constexpr double step = 1e-5;

Problem problem_with(Reference reference, bool softmax) {
    Problem p;
    p.pass = Pass::backward;
    p.value = p.location = p.weight = Type::f64;
    p.batch = 2;
    p.queries = 5;
    p.heads = 2;
    p.head_dim = 3;
    p.levels = {{5, 7}, {3, 2}, {1, 4}};
    p.points = {2, 3, 1};
    p.softmax = softmax;
    p.reference = reference;
    if (reference == Reference::pillars) p.pillars = 2;
    if (reference == Reference::points) p.reference_levels = 1;
    if (reference == Reference::boxes) p.reference_levels = 3;
    return normalise(p);
}

// Loss Σ g · out of the forward.
double loss(Problem p, const Inputs& inputs) {
    p.pass = Pass::forward;
    const std::vector<double> out = compute_reference(p, inputs.tensors(), 1).output;
    const auto* g = static_cast<const double*>(inputs.grad_output.data());
    double total = 0;
    for (std::size_t i = 0; i < out.size(); i++) total += g[i] * out[i];
    return total;
}

// Compares one gradient with differences of the loss over its tensor; an element whose difference changes with the step
// has a pixel border within reach and is left out. Returns how many were compared.
int64_t check_gradient(const Problem& p, const Inputs& inputs, const HostBuffer& tensor,
                       const std::vector<double>& gradient) {
    auto* v = static_cast<double*>(tensor.data());
    REQUIRE(tensor.bytes() == gradient.size() * sizeof(double));
    int64_t compared = 0;
    for (std::size_t i = 0; i < gradient.size(); i++) {
        const double kept = v[i];
        const auto difference = [&](double h) {
            v[i] = kept + h;
            const double up = loss(p, inputs);
            v[i] = kept - h;
            const double down = loss(p, inputs);
            v[i] = kept;
            return (up - down) / (2 * h);
        };
        const double wide = difference(step), narrow = difference(step / 8);
        if (std::abs(wide - narrow) > 1e-6 * (1 + std::abs(narrow))) continue;
        CHECK(gradient[i] == doctest::Approx(narrow).epsilon(1e-6).scale(1));
        compared++;
    }
    return compared;
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("reference: gradients equal finite differences, with and without fused softmax and references") {
        for (const Reference reference : {Reference::none, Reference::points, Reference::boxes, Reference::pillars})
            for (const bool softmax : {false, true}) {
                const Problem p = problem_with(reference, softmax);
                const std::string text = canonical(p);
                CAPTURE(text);
                const Inputs inputs = make_inputs(p, Locations::uniform, 3);
                const ReferenceResult r = compute_reference(p, inputs.tensors());
                const auto all = [](const std::vector<double>& v) { return static_cast<int64_t>(v.size()); };
                CHECK(check_gradient(p, inputs, inputs.value, r.grad_value) == all(r.grad_value));
                CHECK(check_gradient(p, inputs, inputs.weights, r.grad_weights) == all(r.grad_weights));
                CHECK(check_gradient(p, inputs, inputs.locations, r.grad_locations) > all(r.grad_locations) * 9 / 10);
                if (reference != Reference::none)
                    CHECK(check_gradient(p, inputs, inputs.references, r.grad_references) >
                          all(r.grad_references) * 9 / 10);
            }
    }

    TEST_CASE("reference: a discrete sampling has value and weight gradients and a zero location gradient") {
        for (const Sampling sampling : {Sampling::nearest, Sampling::rtdetrv2, Sampling::rtdetrv2_square}) {
            Problem p = problem_with(Reference::none, true);
            p.sampling = sampling;
            const Inputs inputs = make_inputs(p, Locations::uniform, 4);
            const ReferenceResult r = compute_reference(p, inputs.tensors());
            CHECK(check_gradient(p, inputs, inputs.value, r.grad_value) == static_cast<int64_t>(r.grad_value.size()));
            CHECK(check_gradient(p, inputs, inputs.weights, r.grad_weights) ==
                  static_cast<int64_t>(r.grad_weights.size()));
            for (const double d : r.grad_locations) CHECK(d == 0);
        }
    }
}
