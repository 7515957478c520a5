// The CPU path keeps the operator's properties on random problems; the check itself sees each of them broken.
#include "tests/runtime/properties.hpp"

#include <doctest/doctest.h>

#include "runtime/cpu/cpu.hpp"
#include "runtime/numbers.hpp"
#include "tests/runtime/random_problem.hpp"

using namespace msda;

namespace {

Problem small(Pass pass) {
    Problem p;
    p.pass = pass;
    p.queries = 9;
    p.heads = 3;
    p.head_dim = 8;
    p.levels = {{5, 7}, {2, 3}};
    return normalise(p);
}

// The CPU path with one thing done to its result.
template <class Spoil>
std::string spoilt(const Problem& p, Spoil spoil) {
    return test::broken_property(p, Locations::model, 3, [&](const Tensors& t) {
        cpu_launch(p, t, 1);
        spoil(t);
    });
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("cpu: linear in value, weights and grad_output; queries and heads in any order") {
        int checked = 0;
        for (std::uint64_t seed = 1; seed <= 250; seed++) {
            Problem p = test::random_problem(seed);
            if (!p.dense() || p.softmax || p.reference != Reference::none) continue;
            const std::string text = canonical(p);
            CAPTURE(text);
            CHECK(test::broken_property(p, seed % 2 ? Locations::uniform : Locations::model, seed,
                                        [&](const Tensors& t) { cpu_launch(p, t, 1); }) == "");
            checked++;
        }
        CHECK(checked >= 30);
    }

    TEST_CASE("a result that breaks linearity or depends on the order is seen") {
        const Problem forward = small(Pass::forward), backward = small(Pass::backward);
        const auto output = [](const Tensors& t) { return static_cast<float*>(t.output); };
        CHECK(spoilt(forward, [](const Tensors&) {}) == "");
        CHECK(spoilt(forward, [&](const Tensors& t) { output(t)[5] += 0.5f; }).find("linear") == 0);
        CHECK(spoilt(backward, [](const Tensors& t) {
                  static_cast<float*>(t.grad_weights)[2] += 0.5f;
              }).find("linear") == 0);
        // Twice the first query's row is linear, and tells the queries apart; so for a head.
        CHECK(spoilt(forward, [&](const Tensors& t) {
                  for (int i = 0; i < 3 * 8; i++) output(t)[i] *= 2;
              }).find("queries in reverse") == 0);
        CHECK(spoilt(forward, [&](const Tensors& t) {
                  for (int q = 0; q < 9; q++)
                      for (int d = 0; d < 8; d++) output(t)[q * 24 + d] *= 2;
              }).find("heads in reverse") == 0);
    }
}
