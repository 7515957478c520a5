// Lab 01: the definition of the operator.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab01 {

constexpr float infinity = std::numeric_limits<float>::infinity();

void image_coordinate(Attempt& attempt) {
    const auto f = attempt.student.function<float(float, int)>("image_coordinate");
    for (int size : {1, 2, 7, 100, 167, 640})
        for (int i = -50; i <= 1050; i++) {
            const float x = static_cast<float>(i) / 1000;
            const float expected = std::fma(x, static_cast<float>(size), -0.5F), got = f(x, size);
            require(got == expected,
                    fmt::format("x = {}, size {}: expected {:.9g}, got {:.9g}", x, size, expected, got));
        }
}

// A map of one channel whose other channels are NaN, and where it is read at all.
struct Map {
    int height, width, stride;
    std::vector<float> values;

    Map(int h, int w, int s)
        : height(h), width(w), stride(s), values(static_cast<std::size_t>(h * w * s + 2 * w * s), infinity) {
        for (int i = 0; i < h * w; i++) first()[i * s] = static_cast<float>(i * 7 % 11) - 4.5F;
    }
    float* first() { return values.data() + width * stride; }

    // By the definition, in double: the sum over all pixels of the product of two hat functions.
    double at(float x, float y) {
        const double x_im = std::fma(x, static_cast<float>(width), -0.5F),
                     y_im = std::fma(y, static_cast<float>(height), -0.5F);
        if (!(x_im > -1 && x_im < width && y_im > -1 && y_im < height)) return 0;
        double sum = 0;
        for (int r = 0; r < height; r++)
            for (int c = 0; c < width; c++)
                sum += std::fmax(0, 1 - std::fabs(x_im - c)) * std::fmax(0, 1 - std::fabs(y_im - r)) *
                       first()[(r * width + c) * stride];
        return sum;
    }
};

void bilinear(Attempt& attempt) {
    const auto f = attempt.student.function<float(const float*, int, int, int, float, float)>("bilinear");
    const std::vector<float> coordinates = {0.5F,  0.3F,  0.71F, 0,      1,     -0.05F,   1.05F,     0.04F,
                                            0.99F, -0.6F, 1.6F,  -1e30F, 1e30F, infinity, -infinity, std::nanf("")};
    for (Map map : {Map(3, 5, 1), Map(4, 4, 3), Map(1, 6, 2), Map(6, 1, 1), Map(1, 1, 1)})
        for (const float x : coordinates)
            for (const float y : coordinates)
                expect_near(
                    fmt::format("map of {} rows and {} columns: (x, y) = ({}, {})", map.height, map.width, x, y),
                    f(map.first(), map.height, map.width, map.stride, x, y), map.at(x, y), 1e-5);
    // x_im is exactly −1 or W, and so for y: no corner has a weight, and infinities show whether one was read.
    Map everywhere(4, 4, 1);
    std::fill(everywhere.values.begin(), everywhere.values.end(), infinity);
    for (const float edge : {-0.125F, 1.125F})
        for (const auto& [x, y] : {std::pair{edge, 0.5F}, {0.5F, edge}, {edge, edge}})
            expect_near(fmt::format("map of 4 rows and 4 columns, all infinite: (x, y) = ({}, {})", x, y),
                        f(everywhere.first(), 4, 4, 1, x, y), 0, 0);
    // All but the four corners infinite.
    Map map(4, 6, 1);
    const double expected = map.at(0.5F, 0.5F);
    for (int i = 0; i < 24; i++)
        if (i / 6 < 1 || i / 6 > 2 || i % 6 < 2 || i % 6 > 3) map.first()[i] = infinity;
    expect_near("pixels around the four corners are infinite", f(map.first(), 4, 6, 1, 0.5F, 0.5F), expected, 1e-5);
}

void forward(Attempt& attempt) {
    const auto f =
        attempt.student.function<void(LabShape, const float*, const float*, const float*, float*)>("forward");
    for (const bool hard : {false, true})
        for (const Case& c : cases_of(Pass::forward, hard)) {
            f(c.shape, c.value(), c.locations(), c.weights(), c.output());
            expect_reference(c);
        }
}

}  // namespace lab01

Checks checks_01() {
    using namespace lab01;
    return {{"01/image_coordinate", image_coordinate}, {"01/bilinear", bilinear}, {"01/forward", forward}};
}

}  // namespace msda::lab
