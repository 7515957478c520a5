// Lab 08: races under ThreadSanitizer, reductions, and sums that stall.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/numbers.hpp"
#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"
#include "tools/lab/race.hpp"

namespace msda::lab {
namespace lab08 {

using emulation::Access;

constexpr int block = 64, blocks = 3;

std::vector<int> numbers() {
    std::vector<int> all;
    for (int i = 0; i < block * blocks; i++) all.push_back(i * 7 % 31 % 8);
    return all;
}

// Runs a kernel of blocks of 64 threads on `numbers`, looks for races whatever comes out, and compares.
template <class... More>
void check_ints(Attempt& attempt, const std::string& kernel, const std::vector<int>& expected,
                const std::vector<std::string>& more_arguments, More... more) {
    const std::vector<int> in = numbers();
    std::string wrong;
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
        std::vector<int> out(expected.size(), -1);
        const Launch launch{kernel, blocks, block, block * sizeof(int), {reads("in", in), writes("out", out)},
                            false,  order};
        attempt.student.launch(launch, in.data(), out.data(), more...);
        for (std::size_t i = 0; i < out.size() && wrong.empty(); i++)
            if (out[i] != expected[i]) wrong = fmt::format("out[{}]: expected {}, got {}", i, expected[i], out[i]);
    }
    std::vector<std::string> arguments = {fmt::format("n:{}:8", in.size()), fmt::format("z:{}", expected.size())};
    arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
    expect_no_race(attempt, kernel, blocks, block, block * sizeof(int), arguments,
                   wrong.empty() ? "the result is right" : wrong);
    require(wrong.empty(), fmt::format("{}: {}", kernel, wrong));
}

void barrier(Attempt& attempt) {
    std::vector<int> expected = numbers();
    for (int b = 0; b < blocks; b++) std::reverse(expected.begin() + b * block, expected.begin() + (b + 1) * block);
    check_ints(attempt, "reverse", expected, {});
}

void loop(Attempt& attempt) {
    const int rounds = 5;
    const std::vector<int> in = numbers();
    std::vector<int> expected;
    for (int i = 0; i < block * blocks; i++)
        expected.push_back(in[static_cast<std::size_t>(i / block * block + (i % block + block - rounds) % block)]);
    check_ints(attempt, "rotate", expected, {fmt::format("i:{}", rounds)}, rounds);
}

void count(Attempt& attempt) {
    const std::vector<int> in = numbers();
    std::vector<int> expected(blocks * 8, 0);
    for (int i = 0; i < block * blocks; i++)
        expected[static_cast<std::size_t>(i / block * 8 + in[static_cast<std::size_t>(i)])]++;
    check_ints(attempt, "histogram", expected, {});
}

std::uint32_t blocks_of(std::int64_t threads) { return static_cast<std::uint32_t>((threads + 127) / 128); }

// Runs a scatter kernel, `channels` of a row a thread, on all cases that allow it, then looks for races.
void check_scatter(Attempt& attempt, const std::string& kernel, int channels) {
    for (const bool hard : {false, true})
        for (const Case& c : cases_of(Pass::backward, hard)) {
            if (c.problem.head_dim % channels != 0) continue;
            const auto elements =
                static_cast<std::size_t>(c.problem.batch * c.problem.pixels * c.problem.heads * c.problem.head_dim);
            std::fill(c.grad_value(), c.grad_value() + elements, 0.0F);
            const Launch launch{kernel, blocks_of(sizes(c.problem).output / channels), 128, 0, c.memory(), true};
            const emulation::Counts counts =
                attempt.student.launch(launch, c.shape, static_cast<int>(c.problem.total_points()), c.locations(),
                                       c.weights(), c.grad_output(), c.grad_value());
            expect_reference(c, {"grad_value"});
            const auto reds = counts.of(Access::global_red);
            require(reds.lanes == 0 || reds.bytes == 4 * channels * reds.lanes,
                    fmt::format("{}: expected reds of {} bytes, got {} lanes and {} bytes", c.name, 4 * channels,
                                reds.lanes, reds.bytes));
            require(counts.of(Access::global_store).requests == 0,
                    c.name + ": grad_value is written by store(); use a red");
            if (!hard && c.problem.head_dim == 32 && attempt.notes.empty())
                attempt.notes.push_back(
                    fmt::format("{}: {} red requests, {} lanes", c.name, reds.requests, reds.lanes));
        }
    Problem p = cases::problem_of(Pass::backward, 1, 40, 2, 8, {{4, 5}, {2, 2}}, {2}, Type::f32);
    p = normalise(p);
    const LabShape shape = shape_of(p);
    const Sizes size = sizes(p);
    expect_no_race(attempt, kernel, blocks_of(size.output / channels), 128, 0,
                   {struct_argument(&shape, sizeof shape), fmt::format("i:{}", p.total_points()),
                    fmt::format("f:{}", size.locations), fmt::format("f:{}", size.weights),
                    fmt::format("f:{}", size.output), fmt::format("z:{}", size.value)});
}

void scatter(Attempt& attempt) { check_scatter(attempt, "scatter", 1); }
void vector(Attempt& attempt) { check_scatter(attempt, "scatter_vector", 4); }

void stalls_at(Attempt& attempt) {
    const auto f = attempt.student.function<int(int)>("stalls_at");
    std::uint32_t half = 0, bfloat = 0;
    const Launch launch{"add_ones", 16, 256, 0, {}};
    attempt.student.launch(launch, &half, &bfloat);
    const int measured_half = static_cast<int>(host::read(Type::f16, &half, 0)),
              measured_bfloat = static_cast<int>(host::read(Type::bf16, &bfloat, 0));
    attempt.notes.push_back(
        fmt::format("4096 threads added 1: f16 ended at {}, bf16 at {}", measured_half, measured_bfloat));
    require(f(10) == measured_half,
            fmt::format("f16, 10 stored bits: a sum of ones ends at {}, you predict {}", measured_half, f(10)));
    require(f(7) == measured_bfloat,
            fmt::format("bf16, 7 stored bits: a sum of ones ends at {}, you predict {}", measured_bfloat, f(7)));
    require(f(23) == 16777216,
            fmt::format("f32, 23 stored bits: 16777216.0f + 1 is 16777216.0f, you predict {}", f(23)));
}

void round_sums(Attempt& attempt) {
    // Two elements a thread, the last block half empty.
    const int n = 300;
    std::vector<float> sums;
    for (int i = 0; i < n; i++) sums.push_back(static_cast<float>(i) * 7.13F - 900);
    std::vector<std::uint16_t> out(n);
    const Launch launch{"round_sums", 2, 128, 0, {reads("sums", sums), writes("out", out)}};
    attempt.student.launch(launch, static_cast<const float*>(sums.data()), out.data(), n);
    for (std::int64_t i = 0; i < n; i++)
        require(out[static_cast<std::size_t>(i)] == host::narrow<host::f16>(sums[static_cast<std::size_t>(i)]).bits,
                fmt::format("sum {} is {}: got {}", i, sums[static_cast<std::size_t>(i)],
                            host::read(Type::f16, out.data(), i)));
    // 4096 points on one pixel's centre, gradient and weight 1.
    const Case c =
        case_of("4096 queries on one pixel", cases::problem_of(Pass::backward, 1, 4096, 1, 4, {{3, 4}}, {1}, Type::f32),
                cases::Scene::contended);
    const std::vector<float> ones(4096 * 4, 1);
    std::vector<float> scratch(12 * 4, 0);
    std::vector<std::uint16_t> rounded(12 * 4);
    const Launch add{"scatter_vector", blocks_of(4096), 128, 0, {}};
    attempt.student.launch(add, c.shape, 1, c.locations(), static_cast<const float*>(ones.data()),
                           static_cast<const float*>(ones.data()), scratch.data());
    const Launch finish{"round_sums", 1, 128, 0, {reads("sums", scratch), writes("out", rounded)}};
    attempt.student.launch(finish, static_cast<const float*>(scratch.data()), rounded.data(), 48);
    for (std::int64_t d = 0; d < 4; d++)
        expect_near("4096 ones summed in f32 and rounded to f16", host::read(Type::f16, rounded.data(), d), 4096, 0);
}

}  // namespace lab08

Checks checks_08() {
    using namespace lab08;
    return {{"08/barrier", barrier}, {"08/loop", loop},           {"08/count", count},     {"08/scatter", scatter},
            {"08/vector", vector},   {"08/stalls_at", stalls_at}, {"08/round", round_sums}};
}

}  // namespace msda::lab
