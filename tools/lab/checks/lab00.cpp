// Lab 00: attention on a line of pixels.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab00 {

const std::vector<float> line = {3, -1, 4, 1.5F, -5};

// The value of the line at x, in double precision; written from the definition, as a sum over all pixels.
double sample_of(double x) {
    const double position = x * static_cast<double>(line.size()) - 0.5;
    double sum = 0;
    for (std::size_t i = 0; i < line.size(); i++)
        sum += line[i] * std::fmax(0, 1 - std::fabs(position - static_cast<double>(i)));
    return sum;
}

std::vector<double> softmax_of(const std::vector<float>& logits) {
    double largest = logits[0], sum = 0;
    for (const float logit : logits) largest = std::fmax(largest, logit);
    std::vector<double> weights;
    for (const float logit : logits) weights.push_back(std::exp(logit - largest));
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
    return weights;
}

void dense_reads(Attempt& attempt) {
    const auto f = attempt.student.function<long long(long long, long long, long long)>("dense_reads");
    const long long expected = 300LL * 16700 * 256, got = f(300, 16700, 256);
    require(got == expected,
            fmt::format("300 queries, 16700 pixels, 256 channels: expected {}, got {}", expected, got));
    const long long many = 22223LL * 22223 * 256, got_many = f(22223, 22223, 256);
    require(got_many == many,
            fmt::format("22223 queries and pixels, 256 channels: expected {}, got {}; an int ends at 2147483647", many,
                        got_many));
    require(f(7, 5, 3) == 105, fmt::format("7 queries, 5 pixels, 3 channels: expected 105, got {}", f(7, 5, 3)));
}

void deformable_reads(Attempt& attempt) {
    const auto f = attempt.student.function<long long(long long, long long, long long, long long)>("deformable_reads");
    const long long got = f(300, 4, 4, 256), expected = 300LL * 16 * 4 * 256;
    require(got == expected,
            fmt::format("300 queries, 4 levels, 4 points, 256 channels: expected {}, got {}", expected, got));
    require(f(7, 3, 5, 2) == 840,
            fmt::format("7 queries, 3 levels, 5 points, 2 channels: expected 840, got {}", f(7, 3, 5, 2)));
    attempt.notes.push_back(fmt::format(
        "16700 queries on 100 x 167 pixels, one level of 4 points: dense attention reads {:.0f} times as much",
        16700.0 * 16700 / (16700.0 * 16)));
}

void softmax(Attempt& attempt) {
    const auto f = attempt.student.function<void(const float*, float*, int)>("softmax");
    for (const std::vector<float>& logits :
         {std::vector<float>{0.5F, -1, 2}, {7}, {1000, 999, 1000, -1000}, {-1000, -1001}, {0, 0, 0, 0, 0, 0, 0}}) {
        std::vector<float> weights(logits.size(), -1);
        f(logits.data(), weights.data(), static_cast<int>(logits.size()));
        const std::vector<double> expected = softmax_of(logits);
        for (std::size_t i = 0; i < logits.size(); i++)
            expect_near(fmt::format("logits {}: weight {}", fmt::join(logits, ", "), i), weights[i], expected[i], 1e-6);
    }
}

void sample(Attempt& attempt) {
    const auto f = attempt.student.function<float(const float*, int, float)>("sample");
    // A NaN on both sides, so that a pixel read beyond the line shows.
    std::vector<float> guarded = {std::nanf("")};
    guarded.insert(guarded.end(), line.begin(), line.end());
    guarded.push_back(std::nanf(""));
    const int width = static_cast<int>(line.size());
    const auto check = [&](float x) {
        expect_near(fmt::format("line {}: x = {}", fmt::join(line, ", "), x), f(guarded.data() + 1, width, x),
                    sample_of(x), 1e-5);
    };
    for (int i = 0; i < width; i++) check((static_cast<float>(i) + 0.5F) / static_cast<float>(width));
    for (int i = -4; i <= 44; i++) check(static_cast<float>(i) / 40);
    for (const float x :
         {-1e30F, 1e30F, -3.0F, 2.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})
        check(x);
    expect_near("x = NaN", f(guarded.data() + 1, width, std::nanf("")), 0, 0);
}

void attend(Attempt& attempt) {
    const auto f = attempt.student.function<float(const float*, int, const float*, const float*, int)>("attend");
    for (const int points : {1, 4, 64}) {
        std::vector<float> positions, logits;
        for (int i = 0; i < points; i++) {
            positions.push_back(static_cast<float>(i * 37 % 101) / 90 - 0.05F);
            logits.push_back(static_cast<float>(i * 53 % 17) / 5);
        }
        const std::vector<double> weights = softmax_of(logits);
        double expected = 0;
        for (std::size_t i = 0; i < positions.size(); i++) expected += weights[i] * sample_of(positions[i]);
        expect_near(fmt::format("{} points", points),
                    f(line.data(), static_cast<int>(line.size()), positions.data(), logits.data(), points), expected,
                    1e-5);
    }
}

}  // namespace lab00

Checks checks_00() {
    using namespace lab00;
    return {{"00/dense_reads", dense_reads},
            {"00/deformable_reads", deformable_reads},
            {"00/softmax", softmax},
            {"00/sample", sample},
            {"00/attend", attend}};
}

}  // namespace msda::lab
