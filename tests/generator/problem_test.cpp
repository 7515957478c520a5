// Which problems are accepted, with what defaults, and how each refusal says what was expected and what came.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "tests/generator/draw.hpp"

using namespace msda;
using draw::error_of;

namespace {

Problem good() { return draw::detr(Pass::forward, 2, 300, Type::f32); }

struct Refusal {
    std::function<void(Problem&)> spoil;
    std::string message;  // the whole of it
};

// Each must be refused, and each must have been fine before it was spoiled.
void check_refusals(const std::vector<Refusal>& refusals) {
    for (const Refusal& refusal : refusals) {
        Problem p = good();
        REQUIRE_NOTHROW(normalise(p));
        refusal.spoil(p);
        const auto [code, message] = error_of([&] { normalise(p); });
        CHECK(code == Code::invalid_problem);
        CHECK(message == refusal.message);
    }
}

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("refused: sizes") {
    check_refusals({
        {[](Problem& p) { p.batch = -1; }, "batch: expected at least 0, got -1"},
        {[](Problem& p) { p.queries = -300; }, "queries: expected at least 0, got -300"},
        {[](Problem& p) { p.heads = 0; }, "heads: expected at least 1, got 0"},
        {[](Problem& p) { p.heads = -8; }, "heads: expected at least 1, got -8"},
        {[](Problem& p) { p.heads = (1 << 20) + 1; }, "heads: expected at most 2^20, got 1048577"},
        {[](Problem& p) { p.head_dim = 0; }, "head_dim: expected at least 1, got 0"},
        {[](Problem& p) { p.head_dim = 1 << 21; }, "head_dim: expected at most 2^20, got 2097152"},
        {[](Problem& p) { p.pixels = -1; }, "pixels (S): expected at least 0, got -1"},
        {[](Problem& p) { p.queries = 2147483647; }, "queries: expected less than 2^31 - 1, got 2147483647"},
        {[](Problem& p) { p.batch = 2147483647; }, "batch: expected less than 2^31 - 1, got 2147483647"},
    });
}

TEST_CASE("refused: levels (lesson 6: a level that ends past S)") {
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    check_refusals({
        {[](Problem& p) { p.levels.clear(); }, "levels: expected at least one level, got none"},
        {[](Problem& p) {
             p.levels.assign(4097, {1, 1});
         },
         "levels: expected at most 4096 levels, got 4097"},
        {[](Problem& p) { p.levels[1].height = 0; }, "height of level 1: expected at least 1, got 0"},
        {[](Problem& p) { p.levels[3].width = -4; }, "width of level 3: expected at least 1, got -4"},
        {[](Problem& p) { p.levels[0].start = -2; }, "start of level 0: expected at least -1, got -2"},
        {[](Problem& p) { p.levels[2].start = 22000; },
         "level 2 (25x42 at 22000) ends at pixel 23050: expected at most S = 22223"},
        {[](Problem& p) {
             p.levels = {{5, 5}};
             p.points = {4};
             p.pixels = 16;
         },
         "level 0 (5x5 at 0) ends at pixel 25: expected at most S = 16"},
        {[](Problem& p) { p.levels[0].start = largest; },
         "start of level 0: expected less than 2^31 - 1, got 9223372036854775807"},
        {[](Problem& p) { p.levels[0].height = 1 << 25; },
         "size of level 0: expected at most 2^24 a side, got 33554432x167"},
        {[](Problem& p) {
             p.levels = {{1 << 16, 1 << 15}};
             p.points = {4};
             p.pixels = 0;
         },
         "S: expected less than 2^31 - 1 pixels, got 2147483648"},
    });
}

TEST_CASE("refused: points (lesson 1: L of the locations is not L of the levels)") {
    check_refusals({
        {[](Problem& p) {
             p.levels = {{8, 8}};
             p.points = {4, 4, 4, 4};
             p.pixels = 64;
         },
         "points: expected one count for each of 1 levels, got 4 counts"},
        {[](Problem& p) {
             p.points = {4, 4, 4};
         },
         "points: expected one count for each of 4 levels, got 3 counts"},
        {[](Problem& p) { p.points.clear(); }, "points: expected one count for each of 4 levels, got 0 counts"},
        {[](Problem& p) { p.points[2] = 0; }, "points of a level: expected at least 1, got 0"},
        {[](Problem& p) { p.points = {-1}; }, "points of a level: expected at least 1, got -1"},
        {[](Problem& p) { p.points = {20000}; }, "points: expected at most 65536 over all levels, got more"},
        {[](Problem& p) {
             p.points = {1, INT64_MAX, 1, 1};  // a sum would overflow
         },
         "points: expected at most 65536 over all levels, got more"},
    });
}

TEST_CASE("refused: type pairs") {
    const auto types = [](Type value, Type location, Type weight, Type output = Type::f32) {
        return [=](Problem& p) { p.value = value, p.location = location, p.weight = weight, p.output = output; };
    };
    check_refusals({
        {types(Type::f32, Type::f16, Type::f32), "location type: expected f32 or the value's type f32, got f16"},
        {types(Type::f16, Type::bf16, Type::f32), "location type: expected f32 or the value's type f16, got bf16"},
        {types(Type::f16, Type::f16, Type::f64), "weight type: expected f32 or the value's type f16, got f64"},
        {types(Type::bf16, Type::f32, Type::f16), "weight type: expected f32 or the value's type bf16, got f16"},
        {types(Type::f32, Type::f32, Type::f32, Type::f16), "output type: expected the value's type f32, got f16"},
        {types(Type::f16, Type::f16, Type::f32, Type::e4m3), "output type: expected the value's type f16, got e4m3"},
        {types(Type::e4m3, Type::f32, Type::f32), "output type with e4m3 values: expected f16 or bf16, got f32"},
        {types(Type::e4m3, Type::e4m3, Type::f32, Type::f16),
         "location type: expected f32 or the value's type f16, got e4m3"},
        {types(Type::e4m3, Type::f32, Type::bf16, Type::f16),
         "weight type: expected f32 or the value's type f16, got bf16"},
    });
    Problem p = good();
    p.pass = Pass::backward, p.value = Type::e4m3, p.output = Type::f16;
    CHECK(error_of([&] { normalise(p); }).second == "e4m3 values: expected a forward, got a backward");
}

TEST_CASE("every allowed triple of types is accepted and no other") {
    const auto all = {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3};
    for (const Type value : all)
        for (const Type location : all)
            for (const Type weight : all) {
                Problem p = good();
                p.value = value, p.location = location, p.weight = weight;
                const Type partner = value == Type::e4m3 ? Type::bf16 : value;
                p.output = partner;
                const bool allowed =
                    (location == Type::f32 || location == partner) && (weight == Type::f32 || weight == partner);
                CAPTURE(name(value));
                CAPTURE(name(location));
                CAPTURE(name(weight));
                CHECK((error_of([&] { normalise(p); }).first == Code{}) == allowed);
            }
}

TEST_CASE("refused: references, strides, alignment") {
    check_refusals({
        {[](Problem& p) { p.reference_levels = 4; }, "reference_levels and pillars: expected 0 without references"},
        {[](Problem& p) { p.pillars = 4; }, "reference_levels and pillars: expected 0 without references"},
        {[](Problem& p) { p.reference = Reference::points, p.reference_levels = 3; },
         "reference_levels: expected 1 or 4, got 3"},
        {[](Problem& p) { p.reference = Reference::boxes; }, "reference_levels: expected 1 or 4, got 0"},
        {[](Problem& p) { p.reference = Reference::boxes, p.reference_levels = 1, p.pillars = 2; },
         "pillars: expected 0 with boxes references, got 2"},
        {[](Problem& p) { p.reference = Reference::pillars; }, "pillars: expected at least 1, got 0"},
        {[](Problem& p) { p.reference = Reference::pillars, p.pillars = 4, p.reference_levels = 1; },
         "reference_levels: expected 0 with pillars, got 1"},
        {[](Problem& p) {
             p.value_strides = {-1, 256, 32};
         },
         "value stride of images: expected at least 0, got -1"},
        {[](Problem& p) {
             p.value_strides = {0, 256, -32};
         },
         "value stride of heads: expected at least 0, got -32"},
        {[](Problem& p) { p.alignment = 0; }, "alignment: expected 1, 2, 4, 8 or 16 bytes, got 0"},
        {[](Problem& p) { p.alignment = 12; }, "alignment: expected 1, 2, 4, 8 or 16 bytes, got 12"},
        {[](Problem& p) { p.alignment = 32; }, "alignment: expected 1, 2, 4, 8 or 16 bytes, got 32"},
        {[](Problem& p) { p.alignment = -16; }, "alignment: expected 1, 2, 4, 8 or 16 bytes, got -16"},
    });
}

TEST_CASE("refused: counts past 2^62, with no overflow on the way") {
    constexpr std::int64_t huge = std::int64_t{1} << 61;
    check_refusals({
        {[](Problem& p) { p.batch = 1 << 30, p.heads = 1 << 20, p.head_dim = 1 << 20; },
         "value: more than 2^62 elements"},
        {[](Problem& p) { p.batch = 0, p.heads = 1 << 20, p.head_dim = 1 << 20, p.pixels = 2147483646; },
         "value: more than 2^62 elements"},
        {[](Problem& p) { p.queries = 2147483646, p.batch = 1 << 20, p.heads = 1 << 10, p.points = {16384}; },
         "weights: more than 2^62 elements"},
        {[](Problem& p) {
             p.value_strides = {huge, huge, 1};
         },
         "value: more than 2^62 elements"},
        {[](Problem& p) {
             p.value_strides = {huge, 1, huge / 4};
         },
         "value: more than 2^62 elements"},
        {[](Problem& p) {  // 2^62 exactly, and 2^62 more
             p.batch = 2, p.head_dim = 1, p.heads = 2;
             p.value_strides = {2 * huge - p.pixels, 1, 2 * huge};
         },
         "value: more than 2^62 elements"},
    });
}

TEST_CASE("defaults are filled in") {
    Problem p;
    p.levels = {{3, 4}, {2, 2}, {1, 1}};
    p.value = Type::f16;
    p = normalise(p);
    CHECK(p.levels == std::vector<Level>{{3, 4, 0}, {2, 2, 12}, {1, 1, 16}});
    CHECK(p.points == std::vector<std::int64_t>{4, 4, 4});
    CHECK(p.total_points() == 12);
    CHECK(p.pixels == 17);
    CHECK(p.output == Type::f16);
    CHECK(p.dense());
    CHECK(p.strides() == std::array<std::int64_t, 3>{17 * 8 * 32, 8 * 32, 32});

    p.levels = {{3, 4, 10}, {2, 2, -1}, {1, 1, 2}};  // "after the level before" in the order given
    p.pixels = 0;
    p = normalise(p);
    CHECK(p.levels[1].start == 22);
    CHECK(p.pixels == 26);
}

TEST_CASE("what a pass does not use does not tell two problems apart") {
    Problem p = good();
    p.accumulate = Accumulate::native;
    p.gradients = {false, true, false};
    CHECK(normalise(p) == good());
    p.pass = Pass::backward;
    CHECK(normalise(p).accumulate == Accumulate::automatic);  // no grad_value, no accumulator
    CHECK(normalise(p).gradients == Gradients{false, true, false});
}

TEST_CASE("lesson 5: B = 0 and Q = 0 are problems with empty tensors") {
    Problem p = good();
    p.queries = 0;
    p = normalise(p);
    CHECK(p.empty());
    CHECK(sizes(p).value == 2 * 22223 * 8 * 32);
    CHECK(sizes(p).output == 0);
    p.queries = 300, p.batch = 0;
    p = normalise(p);
    CHECK(p.empty());
    const Sizes none = sizes(p);
    CHECK(none.value + none.locations + none.weights + none.output + none.references == 0);
}

TEST_CASE("sizes count strides in and follow the references") {
    Problem p = good();
    CHECK(sizes(p).value == 2 * 22223 * 8 * 32);
    CHECK(sizes(p).locations == 2 * 300 * 8 * 16 * 2);
    CHECK(sizes(p).weights == 2 * 300 * 8 * 16);
    CHECK(sizes(p).output == 2 * 300 * 8 * 32);
    p.value_strides = {10'000'000, 300, 40};
    CHECK(sizes(normalise(p)).value == 10'000'000 + 22222 * 300 + 7 * 40 + 32);
    p.reference = Reference::points, p.reference_levels = 4;
    CHECK(sizes(normalise(p)).references == 2 * 300 * 4 * 2);
    p.reference = Reference::boxes, p.reference_levels = 1;
    CHECK(sizes(normalise(p)).references == 2 * 300 * 4);
    p.reference = Reference::pillars, p.reference_levels = 0, p.pillars = 4;
    CHECK(sizes(normalise(p)).references == 2 * 300 * 4 * 2);
}

TEST_CASE("an encoder's queries are the pixels of levels that follow each other") {
    CHECK(draw::detr(Pass::forward, 1, 0, Type::f32).encoder_like());
    CHECK_FALSE(good().encoder_like());
    Problem p = draw::detr(Pass::forward, 1, 0, Type::f32);
    std::swap(p.levels[0].start, p.levels[1].start);
    CHECK_FALSE(p.encoder_like());
}

TEST_SUITE_END();
