// Lab 07: gradients by hand.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab07 {

struct PointGradient {
    float x, y, weight;
};

void point_gradient(Attempt& attempt) {
    const auto f = attempt.student.function<PointGradient(const float*, float, float, float, int, int)>("gradient");
    const float s[4] = {1.5F, -2, 0.75F, 4};
    const auto loss = [&](double lx, double ly, double weight) {
        return weight * ((1 - lx) * ((1 - ly) * s[0] + ly * s[2]) + lx * ((1 - ly) * s[1] + ly * s[3]));
    };
    const int height = 5, width = 9;
    for (const float lx : {0.0F, 0.25F, 0.875F})
        for (const float ly : {0.0F, 0.5F, 0.75F})
            for (const float weight : {1.0F, 0.0F, -0.5F}) {
                const PointGradient got = f(s, lx, ly, weight, height, width);
                const std::string where = fmt::format("s = {{{}}}, lx = {}, ly = {}, weight {}, 5 rows, 9 columns",
                                                      fmt::join(s, ", "), lx, ly, weight);
                // The loss is linear in each of lx, ly and weight, so a difference over a whole unit is the derivative.
                expect_near(where + ": weight", got.weight, loss(lx, ly, weight + 1.0) - loss(lx, ly, weight), 1e-5);
                expect_near(where + ": x", got.x, width * (loss(lx + 1.0, ly, weight) - loss(lx, ly, weight)), 1e-4);
                expect_near(where + ": y", got.y, height * (loss(lx, ly + 1.0, weight) - loss(lx, ly, weight)), 1e-4);
            }
}

std::uint32_t blocks_of(std::int64_t threads) { return static_cast<std::uint32_t>((threads + 127) / 128); }

template <class Run>
void for_all_cases(Run run) {
    for (const bool hard : {false, true})
        for (const Case& c : cases_of(Pass::backward, hard)) run(c);
}

void points(Attempt& attempt) {
    for_all_cases([&](const Case& c) {
        const Launch launch{"backward_points", blocks_of(sizes(c.problem).weights), 128, 0, c.memory()};
        attempt.student.launch(launch, c.shape, static_cast<int>(c.problem.total_points()), c.value(), c.locations(),
                               c.weights(), c.grad_output(), c.grad_locations(), c.grad_weights());
        expect_reference(c, {"grad_locations", "grad_weights"});
    });
}

void run_owned(const StudentModule& student, const Case& c) {
    const std::int64_t elements = c.problem.batch * c.problem.pixels * c.problem.heads * c.problem.head_dim;
    // Every pixel looks at every query: the larger problems of the table would take minutes.
    if (elements * c.problem.queries * c.problem.total_points() > 20'000'000) return;
    const Launch launch{"backward_owned", blocks_of(elements), 128, 0, c.memory()};
    student.launch(launch, c.shape, static_cast<int>(c.problem.total_points()), c.locations(), c.weights(),
                   c.grad_output(), c.grad_value());
    expect_reference(c, {"grad_value"});
}

void owned(Attempt& attempt) {
    for_all_cases([&](const Case& c) { run_owned(attempt.student, c); });
    const Case infinite =
        case_of("one element of grad_output is infinite",
                cases::problem_of(Pass::backward, 1, 6, 2, 4, {{5, 6}, {2, 3}}, {2}, Type::f32), cases::Scene::model);
    const_cast<float*>(infinite.grad_output())[3] = std::numeric_limits<float>::infinity();
    run_owned(attempt.student, infinite);
}

}  // namespace lab07

Checks checks_07() {
    using namespace lab07;
    return {{"07/point_gradient", point_gradient}, {"07/points", points}, {"07/owned", owned}};
}

}  // namespace msda::lab
