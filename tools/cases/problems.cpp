#include "tools/cases/problems.hpp"

namespace msda::cases {
namespace {

const std::vector<Level> pyramid = {{13, 21}, {7, 11}, {4, 6}, {2, 3}};

Problem with(Problem problem, void (*change)(Problem&)) {
    change(problem);
    return problem;
}

// Problems of both passes, but for the gradients.
std::vector<NamedProblem> common(Pass pass) {
    const auto make = [&](std::int64_t b, std::int64_t q, std::int64_t m, std::int64_t d,
                          const std::vector<Level>& levels, const std::vector<std::int64_t>& points, Type value,
                          Type location = Type::f32, Type weight = Type::f32) {
        return problem_of(pass, b, q, m, d, levels, points, value, location, weight);
    };
    using enum Type;
    return {
        {"deformable detr, f32", make(1, 64, 8, 32, pyramid, {4}, f32)},
        {"deformable detr, f16", make(2, 33, 8, 32, pyramid, {4}, f16)},
        {"deformable detr, bf16 throughout", make(1, 40, 8, 32, pyramid, {4}, bf16, bf16, bf16)},
        {"f64", make(2, 9, 2, 8, {{5, 7}, {3, 3}}, {3}, f64, f64, f64)},
        {"3 images, 3 heads of 12, 7 queries", make(3, 7, 3, 12, {{6, 5}, {3, 2}}, {5}, f32)},
        {"6 heads of 20, f16 weights", make(2, 11, 6, 20, {{9, 4}}, {5}, f16, f32, f16)},
        {"heads of 30, bf16", make(1, 17, 2, 30, {{8, 8}, {4, 4}}, {2}, bf16)},
        {"heads of 71", make(1, 13, 3, 71, {{7, 7}}, {4}, f32)},
        {"one channel, one head, one level, one point", make(2, 19, 1, 1, {{5, 5}}, {1}, f16, f16)},
        {"maps one pixel high, one wide, one pixel", make(2, 15, 2, 16, {{1, 9}, {9, 1}, {1, 1}}, {4}, f32)},
        {"ragged points", make(1, 21, 4, 32, {{8, 10}, {4, 5}, {2, 3}}, {3, 6, 3}, f16)},
        {"levels in another order than memory",
         with(make(1, 12, 2, 16, {{4, 4, 30}, {5, 6, 0}}, {4}, f32), [](Problem& p) { p.pixels = 50; })},
        {"encoder: queries are pixels", make(1, 13 * 21 + 7 * 11 + 4 * 6 + 2 * 3, 4, 16, pyramid, {4}, f16)},
        {"strided value", with(make(2, 10, 2, 16, {{6, 6}}, {4}, f32),
                               [](Problem& p) {
                                   p.value_strides = {3000, 50, 20};
                               })},
        {"alignment of 4 bytes", with(make(1, 10, 2, 16, {{6, 6}}, {4}, f16), [](Problem& p) { p.alignment = 4; })},
        {"alignment of one f16",
         with(make(1, 10, 2, 12, {{6, 6}}, {4}, f16, f16, f16), [](Problem& p) { p.alignment = 2; })},
        {"family kernel",
         with(make(2, 30, 4, 32, pyramid, {4}, f16), [](Problem& p) { p.specialise = Specialise::family; })},
        {"family kernel of an encoder", with(make(1, 60 + 15, 2, 32, {{6, 10}, {3, 5}}, {2}, f32),
                                             [](Problem& p) { p.specialise = Specialise::family; })},
        {"nearest", with(make(1, 20, 4, 32, pyramid, {4}, f32), [](Problem& p) { p.sampling = Sampling::nearest; })},
        {"rtdetrv2",
         with(make(1, 20, 2, 16, {{5, 16}}, {4}, f16), [](Problem& p) { p.sampling = Sampling::rtdetrv2; })},
        {"rtdetrv2 with both axes clamped by height",
         with(make(1, 20, 2, 16, {{5, 16}}, {4}, f32), [](Problem& p) { p.sampling = Sampling::rtdetrv2_square; })},
    };
}

std::vector<NamedProblem> normalised(std::vector<NamedProblem> problems) {
    for (NamedProblem& named : problems) named.problem = normalise(named.problem);
    return problems;
}

}  // namespace

Problem problem_of(Pass pass, std::int64_t batch, std::int64_t queries, std::int64_t heads, std::int64_t head_dim,
                   const std::vector<Level>& levels, const std::vector<std::int64_t>& points, Type value, Type location,
                   Type weight) {
    Problem problem;
    problem.pass = pass;
    problem.batch = batch;
    problem.queries = queries;
    problem.heads = heads;
    problem.head_dim = head_dim;
    problem.levels = levels;
    problem.points = points;
    problem.value = problem.output = value;
    problem.location = location;
    problem.weight = weight;
    return problem;
}

std::vector<NamedProblem> forward_problems() {
    std::vector<NamedProblem> all = common(Pass::forward);
    Problem fp8 = problem_of(Pass::forward, 2, 16, 4, 32, pyramid, {4}, Type::e4m3);
    fp8.output = Type::f16;
    all.push_back({"e4m3 to f16", fp8});
    fp8.output = Type::bf16;
    fp8.head_dim = 21;
    all.push_back({"e4m3 to bf16, heads of 21", fp8});
    all.push_back({"heads of 1025", problem_of(Pass::forward, 1, 3, 1, 1025, {{4, 4}}, {2}, Type::f16)});
    return normalised(all);
}

std::vector<NamedProblem> backward_problems() {
    std::vector<NamedProblem> all = common(Pass::backward);
    Problem p = problem_of(Pass::backward, 1, 40, 4, 32, pyramid, {4}, Type::f16);
    for (const bool value : {false, true})
        for (const bool location : {false, true}) {
            p.gradients = {value, location, !value || !location};
            all.push_back({"gradients of " + std::string(value ? "value " : "") + (location ? "location " : "") +
                               (p.gradients.weight ? "weight" : ""),
                           p});
        }
    p.gradients = {};
    for (const Accumulate accumulate : {Accumulate::native, Accumulate::f32, Accumulate::deterministic}) {
        p.accumulate = accumulate;
        p.value = p.output = accumulate == Accumulate::native ? Type::bf16 : Type::f16;
        all.push_back({"accumulate " + std::string(name(accumulate)), p});
    }
    return normalised(all);
}

std::vector<NamedProblem> fused_problems(Pass pass) {
    using enum Type;
    const auto make = [&](bool softmax, Reference reference, std::int64_t per_query, Problem p) {
        p.softmax = softmax;
        p.reference = reference;
        (reference == Reference::pillars ? p.pillars : p.reference_levels) = per_query;
        return p;
    };
    const auto deformable = [&](Type value, Type location, Type weight) {
        return problem_of(pass, 2, 33, 8, 32, pyramid, {4}, value, location, weight);
    };
    const auto uneven = [&](Type value) {
        return problem_of(pass, 1, 21, 4, 32, {{8, 10}, {4, 5}, {2, 3}}, {3, 6, 3}, value);
    };
    std::vector<NamedProblem> all = {
        {"softmax, f32", make(true, Reference::none, 0, deformable(f32, f32, f32))},
        {"softmax, f16 logits", make(true, Reference::none, 0, deformable(f16, f32, f16))},
        {"softmax and a point a level, f32", make(true, Reference::points, 4, deformable(f32, f32, f32))},
        {"softmax and one point, f16 throughout", make(true, Reference::points, 1, deformable(f16, f16, f16))},
        {"a point a level, bf16 throughout", make(false, Reference::points, 4, deformable(bf16, bf16, bf16))},
        {"one box, f16", make(false, Reference::boxes, 1, deformable(f16, f32, f32))},
        {"softmax and one box, uneven points", make(true, Reference::boxes, 1, uneven(f16))},
        {"softmax and a box a level, uneven points, f32", make(true, Reference::boxes, 3, uneven(f32))},
        {"softmax and four pillars",
         make(true, Reference::pillars, 4, problem_of(pass, 1, 30, 8, 32, {{10, 12}}, {8}, f32))},
        {"three pillars, uneven points", make(false, Reference::pillars, 3, uneven(bf16))},
        {"softmax and points, f64",
         make(true, Reference::points, 2, problem_of(pass, 2, 9, 2, 8, {{5, 7}, {3, 3}}, {3}, f64, f64, f64))},
        {"softmax and boxes, f64 with f32 offsets and logits",
         make(true, Reference::boxes, 1, problem_of(pass, 1, 9, 3, 12, {{5, 7}, {3, 3}}, {3}, f64, f32, f32))},
        {"softmax over 40 points a level, 3 heads of 12",
         make(true, Reference::points, 1, problem_of(pass, 1, 7, 3, 12, {{6, 5}, {3, 2}}, {40}, f32))},
        {"softmax over one point, one channel",
         make(true, Reference::points, 1, problem_of(pass, 2, 19, 1, 1, {{5, 5}}, {1}, f16, f16, f16))},
        {"family kernel, softmax and points", with(make(true, Reference::points, 4, deformable(f16, f32, f16)),
                                                   [](Problem& p) { p.specialise = Specialise::family; })},
        {"family kernel, boxes", with(make(false, Reference::boxes, 1, deformable(f32, f32, f32)),
                                      [](Problem& p) { p.specialise = Specialise::family; })},
        {"encoder with softmax and points",
         make(true, Reference::points, 4,
              problem_of(pass, 1, 13 * 21 + 7 * 11 + 4 * 6 + 2 * 3, 4, 32, pyramid, {4}, f16))},
        {"softmax and points, alignment of one f16",
         with(make(true, Reference::points, 1, problem_of(pass, 1, 10, 2, 12, {{6, 6}}, {4}, f16, f16, f16)),
              [](Problem& p) { p.alignment = 2; })},
        {"softmax and points, nearest", with(make(true, Reference::points, 4, deformable(f32, f32, f32)),
                                             [](Problem& p) { p.sampling = Sampling::nearest; })},
        {"softmax and a box, rtdetrv2",
         with(make(true, Reference::boxes, 1, uneven(f16)), [](Problem& p) { p.sampling = Sampling::rtdetrv2; })},
    };
    if (pass == Pass::forward) {
        Problem fp8 = make(true, Reference::boxes, 1, deformable(e4m3, f32, f16));
        fp8.output = f16;
        all.push_back({"softmax and a box, e4m3 to f16", fp8});
    } else {
        for (const Gradients gradients : {Gradients{true, false, false}, Gradients{false, true, false},
                                          Gradients{false, false, true}, Gradients{true, false, true}}) {
            Problem p = make(true, Reference::boxes, 1, uneven(f16));
            p.gradients = gradients;
            all.push_back({"softmax and a box, some gradients", p});
        }
        Problem p = make(true, Reference::points, 4, deformable(f16, f32, f16));
        p.accumulate = Accumulate::deterministic;
        all.push_back({"softmax and points, deterministic", p});
    }
    return normalised(all);
}

}  // namespace msda::cases
