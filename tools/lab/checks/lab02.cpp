// Lab 02: index arithmetic.
#include <fmt/format.h>

#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab02 {

// The dense offset by counting digits from the outside.
long long offset_of(long long S, long long M, long long D, long long b, long long s, long long m, long long d) {
    return b * S * M * D + s * M * D + m * D + d;
}

struct Index {
    int S, M, D, b, s, m, d;
};
const std::vector<Index> indices = {{5, 3, 4, 0, 0, 0, 0},
                                    {5, 3, 4, 0, 0, 0, 3},
                                    {5, 3, 4, 0, 0, 2, 1},
                                    {5, 3, 4, 0, 4, 0, 0},
                                    {5, 3, 4, 2, 4, 2, 3},
                                    {22223, 8, 32, 1, 17, 5, 9},
                                    {720000, 8, 32, 11, 719999, 7, 31},
                                    {1, 1, 1, 7, 0, 0, 0}};

std::string text_of(const Index& i) {
    return fmt::format("S={} M={} D={}, element [{}, {}, {}, {}]", i.S, i.M, i.D, i.b, i.s, i.m, i.d);
}

void dense_offset(Attempt& attempt) {
    const auto f = attempt.student.function<long long(int, int, int, int, int, int, int)>("dense_offset");
    for (const Index& i : indices) {
        const long long expected = offset_of(i.S, i.M, i.D, i.b, i.s, i.m, i.d),
                        got = f(i.S, i.M, i.D, i.b, i.s, i.m, i.d);
        require(got == expected, fmt::format("{}: expected {}, got {}", text_of(i), expected, got));
    }
}

void strided_offset(Attempt& attempt) {
    const auto f = attempt.student.function<long long(const long long*, int, int, int, int)>("strided_offset");
    const long long strides[] = {3000000000, 50, 20};
    const long long got = f(strides, 2, 3, 1, 7), expected = 2 * 3000000000 + 150 + 20 + 7;
    require(got == expected,
            fmt::format("strides {{3000000000, 50, 20}}, [2, 3, 1, 7]: expected {}, got {}", expected, got));
    const long long dense[] = {60, 12, 4};
    require(f(dense, 1, 4, 2, 3) == 119,
            fmt::format("strides {{60, 12, 4}}, [1, 4, 2, 3]: expected 119, got {}", f(dense, 1, 4, 2, 3)));
}

void index_of(Attempt& attempt) {
    const auto f = attempt.student.function<void(int, int, int, long long, int*)>("index_of");
    for (const Index& i : indices) {
        int got[4] = {-1, -1, -1, -1};
        const long long offset = offset_of(i.S, i.M, i.D, i.b, i.s, i.m, i.d);
        f(i.S, i.M, i.D, offset, got);
        require(got[0] == i.b && got[1] == i.s && got[2] == i.m && got[3] == i.d,
                fmt::format("{} has offset {}: got [{}]", text_of(i), offset, fmt::join(got, ", ")));
    }
}

void right_lower_pixel(Attempt& attempt) {
    const auto f =
        attempt.student.function<int(const int*, const int*, const int*, int, int, int)>("right_lower_pixel");
    const int height[] = {3, 1, 4}, width[] = {5, 7, 1}, start[] = {11, 0, 40};
    for (int l = 0; l < 3; l++)
        for (int row = -2; row <= height[l]; row++)
            for (int column = -2; column <= width[l]; column++) {
                const bool inside = row >= -1 && row < height[l] - 1 && column >= -1 && column < width[l] - 1;
                const int expected = inside ? start[l] + (row + 1) * width[l] + column + 1 : -1;
                const int got = f(height, width, start, l, row, column);
                require(got == expected,
                        fmt::format("level of {} x {} that starts at {}, row {}, column {}: expected {}, got {}",
                                    height[l], width[l], start[l], row, column, expected, got));
            }
}

void heads_first(Attempt& attempt) {
    const auto f = attempt.student.function<void(int, int, int, int, const float*, float*)>("heads_first");
    const int B = 2, S = 5, M = 3, D = 4;
    std::vector<float> from(120), to(121, -1);
    for (std::size_t i = 0; i < from.size(); i++) from[i] = static_cast<float>(i);
    f(B, S, M, D, from.data(), to.data());
    for (int i = 0; i < 120; i++) {
        const int d = i % D, s = i / D % S, m = i / D / S % M, b = i / D / S / M;
        expect_near(fmt::format("element [{}, {}, {}, {}] of the result", b, m, s, d), to[static_cast<std::size_t>(i)],
                    static_cast<double>(offset_of(S, M, D, b, s, m, d)), 0);
    }
    require(to[120] == -1, "something was written behind the end of the result");
}

void row_alignment(Attempt& attempt) {
    const auto f = attempt.student.function<int(unsigned long long, const long long*, int)>("row_alignment");
    const auto check = [&](unsigned long long address, std::vector<long long> strides, int bytes, int expected) {
        const int got = f(address, strides.data(), bytes);
        require(got == expected, fmt::format("address {}, strides {{{}}}, elements of {} bytes: expected {}, got {}",
                                             address, fmt::join(strides, ", "), bytes, expected, got));
    };
    check(256, {3000, 50, 20}, 4, 8);
    check(256, {60, 12, 4}, 4, 16);
    check(256, {60, 12, 4}, 2, 8);
    check(260, {64, 32, 32}, 4, 4);
    check(4096, {0, 0, 0}, 2, 16);
    check(258, {64, 32, 32}, 2, 2);
    check(257, {64, 32, 32}, 1, 1);
    check(1ULL << 40, {1LL << 33, 8, 8}, 2, 16);
}

}  // namespace lab02

Checks checks_02() {
    using namespace lab02;
    return {{"02/dense_offset", dense_offset}, {"02/strided_offset", strided_offset},
            {"02/index_of", index_of},         {"02/right_lower_pixel", right_lower_pixel},
            {"02/heads_first", heads_first},   {"02/row_alignment", row_alignment}};
}

}  // namespace msda::lab
