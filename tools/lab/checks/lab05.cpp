// Lab 05: a forward that is right for every shape and input.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab05 {

struct Place {
    int row, column;
    float lx, ly;
    unsigned valid;
};

// By the definition, in the same single rounding.
Place place_of(float x, float y, int height, int width) {
    const float x_im = std::fma(x, static_cast<float>(width), -0.5F),
                y_im = std::fma(y, static_cast<float>(height), -0.5F);
    Place place{};
    if (!(x_im > -1 && x_im < static_cast<float>(width) && y_im > -1 && y_im < static_cast<float>(height)))
        return place;
    place.row = static_cast<int>(std::floor(y_im));
    place.column = static_cast<int>(std::floor(x_im));
    place.lx = x_im - std::floor(x_im);
    place.ly = y_im - std::floor(y_im);
    const unsigned columns = (place.column >= 0 ? 1U : 0U) | (place.column + 1 < width ? 2U : 0U);
    place.valid = (place.row >= 0 ? columns : 0U) | (place.row + 1 < height ? columns << 2 : 0U);
    return place;
}

const std::vector<float> coordinates = {0.5F,    0.3F,   0.71F,        0,     1,
                                        -0.05F,  1.05F,  0.04F,        0.99F, -0.6F,
                                        1.6F,    -1e30F, 1e30F,        0.1F,  std::numeric_limits<float>::infinity(),
                                        -0.125F, 1.125F, std::nanf("")};  // ±: exactly −1 and 4 on a map of 4

void place(Attempt& attempt) {
    const auto f = attempt.student.function<Place(float, float, int, int)>("place");
    for (const auto& [height, width] : {std::pair{3, 5}, {4, 4}, {1, 9}, {9, 1}, {1, 1}, {100, 167}})
        for (const float x : coordinates)
            for (const float y : coordinates) {
                const std::string where = fmt::format("{} rows, {} columns, (x, y) = ({}, {})", height, width, x, y);
                const Place expected = place_of(x, y, height, width), got = f(x, y, height, width);
                require(got.valid == expected.valid,
                        fmt::format("{}: expected valid corners {:04b} (bit 3 first), got {:04b}", where,
                                    expected.valid, got.valid));
                if (expected.valid == 0) continue;
                require(got.row == expected.row && got.column == expected.column,
                        fmt::format("{}: expected row {}, column {}, got {}, {}", where, expected.row, expected.column,
                                    got.row, got.column));
                expect_near(where + ": lx", got.lx, expected.lx, 0);
                expect_near(where + ": ly", got.ly, expected.ly, 0);
            }
}

void sample(Attempt& attempt) {
    const int height = 3, width = 4, step = 6;
    std::vector<float> map(static_cast<std::size_t>((height * width - 1) * step + 1), std::nanf("")), out(1);
    for (std::size_t i = 0; i < 12; i++) map[i * step] = static_cast<float>(i * 5 % 7) - 2;
    for (const float x : coordinates)
        for (const float y : coordinates) {
            const Place at = place_of(x, y, height, width);
            double expected = 0;
            for (int c = 0; c < 4; c++)
                if ((at.valid >> c & 1U) != 0)
                    expected += (c % 2 == 0 ? 1.0 - at.lx : at.lx) * (c / 2 == 0 ? 1.0 - at.ly : at.ly) *
                                map[static_cast<std::size_t>(((at.row + c / 2) * width + at.column + c % 2) * step)];
            const Launch launch{"one_sample", 1, 32, 0, {reads("map", map), writes("out", out)}};
            attempt.student.launch(launch, static_cast<const float*>(map.data()), step, height, width, x, y,
                                   out.data());
            expect_near(fmt::format("3 rows, 4 columns, (x, y) = ({}, {})", x, y), out[0], expected, 1e-5);
        }
}

void run(const StudentModule& student, const Case& c) {
    Launch launch{"forward", 0, 256, 0, c.memory()};
    const std::int64_t elements = sizes(c.problem).output;
    launch.blocks = static_cast<std::uint32_t>((elements + 255) / 256);
    student.launch(launch, c.shape, static_cast<int>(c.problem.total_points()), c.value(), c.locations(), c.weights(),
                   c.output());
    expect_reference(c);
}

void forward(Attempt& attempt) {
    for (const Case& c : cases_of(Pass::forward, false)) run(attempt.student, c);
}

void hostile(Attempt& attempt) {
    for (const Case& c : cases_of(Pass::forward, true)) run(attempt.student, c);
}

}  // namespace lab05

Checks checks_05() {
    using namespace lab05;
    return {{"05/place", place}, {"05/sample", sample}, {"05/forward", forward}, {"05/hostile", hostile}};
}

}  // namespace msda::lab
