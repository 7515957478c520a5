// The operator's promises on the CPU path, each with values worked out by hand (numbers are those of
// docs/reliability.md).
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/compare.hpp"
#include "runtime/cpu/cpu.hpp"
#include "tests/runtime/random_problem.hpp"

namespace {

using namespace msda;
using std::int64_t;

// A small f32 problem of one head whose tensors are plain vectors.
struct Small {
    Problem problem;
    std::vector<float> value, locations, weights, output, grad_output, grad_value, grad_locations, grad_weights;

    Small(Pass pass, std::vector<Level> levels, int64_t queries, int64_t points, int64_t head_dim = 1) {
        problem.pass = pass;
        problem.levels = std::move(levels);
        problem.queries = queries;
        problem.points = {points};
        problem.heads = 1;
        problem.head_dim = head_dim;
        size();
    }
    // Call after a change to `problem`.
    void size() {
        problem = normalise(problem);
        const Sizes s = sizes(problem);
        const auto count = [](int64_t n) { return static_cast<std::size_t>(n); };
        value.assign(count(s.value), 1);
        locations.assign(count(s.locations), 0.5f);
        weights.assign(count(s.weights), 1);
        output.assign(count(s.output), 77);
        grad_output.assign(count(s.output), 1);
        grad_value.assign(count(problem.batch * problem.pixels * problem.heads * problem.head_dim), 77);
        grad_locations.assign(count(s.locations), 77);
        grad_weights.assign(count(s.weights), 77);
    }
    void run(int threads = 1) {
        Tensors t;
        t.value = value.data();
        t.locations = locations.data();
        t.weights = weights.data();
        t.output = output.data();
        t.grad_output = grad_output.data();
        t.grad_value = grad_value.data();
        t.grad_locations = grad_locations.data();
        t.grad_weights = grad_weights.data();
        cpu_launch(problem, t, threads);
    }
};

// grid_sample(align_corners=False, padding zeros) of one channel at a location in 0..1, as PyTorch writes it
// (GridSampler.cpp).
double grid_sample(const std::vector<float>& map, int64_t height, int64_t width, double location_x, double location_y) {
    const double grid_x = 2 * location_x - 1, grid_y = 2 * location_y - 1;
    const double ix = ((grid_x + 1) * static_cast<double>(width) - 1) / 2,
                 iy = ((grid_y + 1) * static_cast<double>(height) - 1) / 2;
    const double left = std::floor(ix), top = std::floor(iy);
    double total = 0;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) {
            const double x = left + dx, y = top + dy;
            if (x < 0 || y < 0 || x >= static_cast<double>(width) || y >= static_cast<double>(height)) continue;
            const double weight = (1 - std::abs(ix - x)) * (1 - std::abs(iy - y));
            total +=
                weight *
                static_cast<double>(
                    map[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)]);
        }
    return total;
}

constexpr float infinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("cpu: a point between four pixels and its gradients, by hand") {
        Small s(Pass::forward, {{2, 2}}, 1, 1);
        s.value = {1, 2, 4, 8};
        s.locations = {0.375f, 0.625f};  // x_im 0.25, y_im 0.75
        s.weights = {2};
        s.run();
        // 2 · (1 · .75 · .25 + 2 · .25 · .25 + 4 · .75 · .75 + 8 · .25 · .75)
        CHECK(s.output[0] == 8.125f);
        s.problem.pass = Pass::backward;
        s.run();
        CHECK(s.grad_weights[0] == 4.0625f);
        CHECK(s.grad_locations[0] == 2 * 2 * ((2 - 1) * 0.25f + (8 - 4) * 0.75f));
        CHECK(s.grad_locations[1] == 2 * 2 * ((4 - 1) * 0.75f + (8 - 2) * 0.25f));
        CHECK(s.grad_value == std::vector<float>{0.375f, 0.125f, 1.125f, 0.375f});
    }

    TEST_CASE("lesson 2: images of a batch never mix") {
        for (const auto& [batch, queries] : {std::pair<int64_t, int64_t>{4, 300}, {2, 5}, {8, 300}, {2, 22223}}) {
            Small s(Pass::forward, {{4, 4}}, queries, 1);
            s.problem.batch = batch;
            s.size();
            for (std::size_t i = 0; i < s.value.size(); i++) s.value[i] = static_cast<float>(i / 16);
            s.run(3);
            bool right = true;
            for (std::size_t i = 0; i < s.output.size(); i++)
                right = right && s.output[i] == static_cast<float>(i / static_cast<std::size_t>(queries));
            CHECK(right);
        }
    }

    TEST_CASE("lesson 3: points outside the map get exactly zero gradients") {
        Small s(Pass::backward, {{4, 4}}, 8, 2);
        s.locations.assign(s.locations.size(), 2.0f);
        s.grad_output.assign(s.grad_output.size(), 1e30f);
        s.weights.assign(s.weights.size(), infinite);
        s.run();
        for (const auto* gradient : {&s.grad_value, &s.grad_locations, &s.grad_weights})
            for (const float g : *gradient) CHECK(g == 0);
    }

    TEST_CASE("lesson 5: empty problems write nothing but zero gradients") {
        for (const Pass pass : {Pass::forward, Pass::backward}) {
            Small none(pass, {{3, 5}}, 0, 4, 8);
            none.run();
            if (pass == Pass::backward)
                for (const float g : none.grad_value) CHECK(g == 0);
            Small batchless(pass, {{3, 5}}, 8, 4, 8);
            batchless.problem.batch = 0;
            batchless.size();
            cpu_launch(batchless.problem, Tensors{}, 2);
            CHECK(batchless.output.empty());
        }
    }

    TEST_CASE("lesson 10: no rule about batch, queries, heads, channels or points") {
        for (const auto& [batch, queries, heads, channels, points] :
             std::initializer_list<std::array<int64_t, 5>>{{65, 7, 3, 12, 5},
                                                           {154, 2, 1, 4, 1},
                                                           {1, 7, 6, 20, 5},
                                                           {2, 3, 12, 30, 3},
                                                           {1, 5, 3, 71, 2},
                                                           {1, 3, 2, 1025, 5}}) {
            for (const Pass pass : {Pass::forward, Pass::backward}) {
                Problem p;
                p.pass = pass;
                p.batch = batch;
                p.queries = queries;
                p.heads = heads;
                p.head_dim = channels;
                p.levels = {{6, 5}, {1, 3}};
                p.points = {points};
                p = normalise(p);
                const Inputs inputs = make_inputs(p, Locations::uniform);
                const Outputs outputs = make_outputs(p);
                const Tensors tensors = outputs.tensors(inputs.tensors());
                cpu_launch(p, tensors, 2);
                for (const Verdict& v : verify(p, compute_reference(p, inputs.tensors()), tensors)) CHECK(v.passed);
            }
        }
    }

    TEST_CASE("lesson 12: fp32 locations keep a point's place on a wide level of 16-bit values") {
        constexpr int64_t width = 512;
        Problem p;
        p.value = p.weight = Type::f16;
        p.queries = 100;
        p.heads = p.head_dim = 1;
        p.levels = {{4, width}};
        p.points = {1};
        p = normalise(p);
        const Inputs inputs = make_inputs(p, Locations::uniform);
        for (int64_t i = 0; i < 4 * width; i++)
            host::write(Type::f16, inputs.value.data(), i, static_cast<double>(i % width));
        const auto x = [](int64_t k) { return 0.90f + static_cast<float>(k) * 1e-4f; };
        for (int64_t k = 0; k < p.queries; k++) {
            host::write(Type::f32, inputs.locations.data(), 2 * k, static_cast<double>(x(k)));
            host::write(Type::f32, inputs.locations.data(), 2 * k + 1, 0.5);
            host::write(Type::f16, inputs.weights.data(), k, 1);
        }
        const Outputs outputs = make_outputs(p);
        cpu_launch(p, outputs.tensors(inputs.tensors()));
        for (int64_t k = 0; k < p.queries; k++) {
            const double exact = static_cast<double>(x(k)) * width - 0.5;
            CHECK(host::read(Type::f16, outputs.output.data(), k) == doctest::Approx(exact).epsilon(0x1p-11));
        }
    }

    TEST_CASE("lesson 13: 4096 queries on one pixel centre sum to 4096 in every type and with every accumulator") {
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64})
            for (const Accumulate accumulate :
                 {Accumulate::automatic, Accumulate::native, Accumulate::f32, Accumulate::deterministic}) {
                Problem p;
                p.pass = Pass::backward;
                p.value = p.weight = type;
                p.accumulate = accumulate;
                p.queries = 4096;
                p.heads = 1;
                p.head_dim = 9;
                p.levels = {{3, 3}};
                p.points = {1};
                p = normalise(p);
                const Inputs inputs = make_inputs(p, Locations::uniform);
                for (int64_t i = 0; i < 2 * p.queries; i++) host::write(Type::f32, inputs.locations.data(), i, 0.5);
                for (int64_t i = 0; i < p.queries; i++) host::write(type, inputs.weights.data(), i, 1);
                for (int64_t i = 0; i < p.queries * p.head_dim; i++) host::write(type, inputs.grad_output.data(), i, 1);
                const Outputs outputs = make_outputs(p);
                cpu_launch(p, outputs.tensors(inputs.tensors()), 2);
                for (int64_t i = 0; i < 9 * 9; i++)
                    CHECK(host::read(type, outputs.grad_value.data(), i) == (i / 9 == 4 ? 4096 : 0));
            }
    }

    TEST_CASE("lesson 14: one non-finite or far location adds exactly nothing and leaves all else as it was") {
        for (const float bad : {std::nanf(""), infinite, -infinite, 1e30f, -1e30f})
            for (int axis = 0; axis < 2; axis++) {
                Small without(Pass::forward, {{5, 6}, {2, 3}}, 1, 8, 3);
                for (std::size_t i = 0; i < without.value.size(); i++)
                    without.value[i] = std::sin(static_cast<float>(i));
                for (std::size_t i = 0; i < without.locations.size(); i++)
                    without.locations[i] = 0.03f + 0.06f * static_cast<float>(i % 16);
                Small with = without;
                without.weights[5] = 0;
                with.locations[static_cast<std::size_t>(10 + axis)] = bad;
                without.run();
                with.run();
                for (std::size_t d = 0; d < 3; d++)
                    CHECK(with.output[d] == doctest::Approx(without.output[d]).epsilon(1e-6));
                without.problem.pass = with.problem.pass = Pass::backward;
                without.run();
                with.run();
                CHECK(with.grad_value == without.grad_value);
                for (std::size_t i = 0; i < with.grad_locations.size(); i++)
                    CHECK(with.grad_locations[i] == (i / 2 == 5 ? 0 : without.grad_locations[i]));
                for (std::size_t i = 0; i < with.grad_weights.size(); i++)
                    CHECK(with.grad_weights[i] == (i == 5 ? 0 : without.grad_weights[i]));
            }
    }

    TEST_CASE("lesson 15: borders are grid_sample's") {
        const std::vector<float> map = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43};  // 3×5
        for (const double y : {-0.5 / 3, 0.0, 1.0, 1 + 0.5 / 3, 0.5, 1.0 / 6, 2.0 / 3})
            for (const double x : {-0.5 / 5, 0.0, 1.0, 1 + 0.5 / 5, 0.3, 0.1, 0.9}) {
                Small s(Pass::forward, {{3, 5}}, 1, 1);
                s.value = map;
                s.locations = {static_cast<float>(x), static_cast<float>(y)};
                s.run();
                CHECK(s.output[0] == doctest::Approx(grid_sample(map, 3, 5, x, y)).epsilon(1e-5).scale(1));
            }
        // A half pixel outside the centre of the border pixel: half of it.
        Small s(Pass::forward, {{3, 5}}, 1, 1);
        s.value = map;
        s.locations = {0.5f, 0.0f};
        s.run();
        CHECK(s.output[0] == 1.5f);
        s.locations = {0.5f, 1.0f};
        s.run();
        CHECK(s.output[0] == 18.5f);
    }

    TEST_CASE("cpu: nearest and rtdetrv2 take different columns where they should") {
        Small s(Pass::forward, {{2, 16}}, 1, 1);
        for (std::size_t i = 0; i < s.value.size(); i++) s.value[i] = static_cast<float>(i % 16);
        s.locations = {0.60f, 0.25f};
        s.problem.sampling = Sampling::nearest;
        s.run();
        CHECK(s.output[0] == 9);
        s.problem.sampling = Sampling::rtdetrv2;
        s.run();
        CHECK(s.output[0] == 10);
        s.problem.sampling = Sampling::rtdetrv2_square;  // both axes clamped by H − 1 = 1
        s.run();
        CHECK(s.output[0] == 1);
        s.locations = {1.5f, 0.25f};
        s.problem.sampling = Sampling::nearest;
        s.run();
        CHECK(s.output[0] == 0);  // outside the map
        s.problem.sampling = Sampling::rtdetrv2;
        s.run();
        CHECK(s.output[0] == 15);  // clamped
    }

    TEST_CASE("cpu: pixels that are no corner never leak, corners of weight 0 follow IEEE") {
        Small s(Pass::forward, {{4, 4}}, 1, 1);
        s.value.assign(16, infinite);
        s.value[5] = 3;
        for (const std::size_t corner : {6, 9, 10}) s.value[corner] = 1;
        s.locations = {0.4375f, 0.4375f};  // x_im = y_im = 1.25: pixels 5, 6, 9, 10
        s.run();
        CHECK(std::isfinite(s.output[0]));
        s.locations = {0.375f, 0.375f};  // exactly on pixel 5: its three neighbours weigh 0
        s.run();
        CHECK(s.output[0] == 3);
        s.value[6] = infinite;
        s.run();
        CHECK(std::isnan(s.output[0]));
        s.locations = {0.0f, 0.0f};  // corners outside the map beside pixel 0
        s.value[0] = 8;
        s.run();
        CHECK(s.output[0] == 2);
    }

    TEST_CASE("cpu: level starts are authoritative; pixels of no level get a zero gradient") {
        Small s(Pass::forward, {{1, 1, 4}, {1, 1, 1}}, 1, 1);
        s.problem.pixels = 6;
        s.size();
        s.value = {0, 10, 0, 0, 20, 0};
        s.weights = {1, 3};
        s.run();
        CHECK(s.output[0] == 20 + 30);
        s.problem.pass = Pass::backward;
        s.run();
        CHECK(s.grad_value == std::vector<float>{0, 3, 0, 0, 1, 0});
    }

    TEST_CASE("cpu: overlapping levels share their pixels' gradient") {
        for (const int threads : {1, 8}) {
            Small s(Pass::backward, {{1, 2, 0}, {1, 2, 1}}, 2000, 1);
            for (std::size_t i = 0; i < s.locations.size(); i += 4)
                s.locations[i] = 0.75f, s.locations[i + 2] = 0.25f;  // pixel 1 from both
            s.run(threads);
            CHECK(s.grad_value == std::vector<float>{0, 4000, 0});
        }
    }

    TEST_CASE("cpu: masked gradients are not written") {
        for (const Gradients mask :
             {Gradients{true, false, false}, Gradients{false, true, false}, Gradients{false, false, true}}) {
            Small s(Pass::backward, {{3, 3}}, 4, 2);
            s.problem.gradients = mask;
            s.run();
            const auto untouched = [](const std::vector<float>& v) { return v == std::vector<float>(v.size(), 77.0f); };
            CHECK(untouched(s.grad_value) == !mask.value);
            CHECK(untouched(s.grad_locations) == !mask.location);
            CHECK(untouched(s.grad_weights) == !mask.weight);
        }
    }

    TEST_CASE("cpu: a non-finite gradient reaches the pixels it touches and no other") {
        Small s(Pass::backward, {{1, 8}}, 2, 1);
        s.locations = {0.1875f, 0.5f, 0.8125f, 0.5f};  // the centres of pixels 1 and 6
        s.grad_output = {infinite, 1};
        s.run();
        CHECK(s.grad_value[1] == infinite);
        CHECK(s.grad_value[6] == 1);
        CHECK(s.grad_value[4] == 0);
    }
}
