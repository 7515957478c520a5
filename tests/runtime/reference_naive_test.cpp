// The chain of trust, first link: the reference against the naive loop, on random problems over every option.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/reference/reference.hpp"
#include "tests/runtime/random_problem.hpp"

namespace {

using namespace msda;

void check_equal(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); i++) {
        REQUIRE(std::isfinite(a[i]));
        error += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    CHECK(std::sqrt(error) <= 1e-12 * std::sqrt(norm));
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("reference: equal to the naive loop on random problems, all options, rough locations") {
        for (std::uint64_t seed = 1; seed <= 250; seed++) {
            Problem problem = test::random_problem(seed);
            const std::string text = canonical(problem);
            CAPTURE(seed);
            CAPTURE(text);
            Inputs inputs = make_inputs(problem, seed % 2 ? Locations::uniform : Locations::model, seed, 2);
            test::roughen(problem, inputs, seed);
            const ReferenceResult a = compute_reference(problem, inputs.tensors(), 2);
            const ReferenceResult b = compute_naive(problem, inputs.tensors());
            check_equal(a.output, b.output);
            check_equal(a.grad_value, b.grad_value);
            check_equal(a.grad_locations, b.grad_locations);
            check_equal(a.grad_weights, b.grad_weights);
            check_equal(a.grad_references, b.grad_references);
        }
    }

    TEST_CASE("reference: bit-equal for any number of threads") {
        Problem problem;
        problem.pass = Pass::backward;
        problem.queries = 50;
        problem.levels = {{7, 9}, {4, 5}};
        problem.reference = Reference::boxes;
        problem.reference_levels = 1;
        problem = normalise(problem);
        const Inputs inputs = make_inputs(problem, Locations::model);
        const ReferenceResult one = compute_reference(problem, inputs.tensors(), 1);
        const ReferenceResult many = compute_reference(problem, inputs.tensors(), 7);
        CHECK(one.grad_value == many.grad_value);
        CHECK(one.grad_locations == many.grad_locations);
        CHECK(one.grad_weights == many.grad_weights);
        CHECK(one.grad_references == many.grad_references);
    }
}
