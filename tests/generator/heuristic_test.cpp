// The default config and the search space: valid for every problem and GPU, with no device and no luck involved.
#include <doctest/doctest.h>

#include <set>

#include "generator/geometry.hpp"
#include "tests/generator/draw.hpp"

using namespace msda;

namespace {

// Why a config cannot run where no config could: the hardware lacks the accumulator that was asked for.
bool hardware_lacks(const Problem& p, const Silicon& s) {
    if (p.pass != Pass::backward || !p.gradients.value) return false;
    if (p.accumulate != Accumulate::native || bytes_of(p.value) != 2) return false;
    return s.capability < 60 || (p.value == Type::bf16 && s.capability < 90) || p.alignment < 4 || p.head_dim % 2 != 0;
}

void check_space(const Problem& p, const Silicon& s) {
    CAPTURE(canonical(p));
    CAPTURE(s.capability);
    const std::vector<Config> all = space(p, s);
    REQUIRE_FALSE(all.empty());
    CHECK(all.front() == default_config(p, s));
    std::set<std::string> texts;
    for (const Config& c : all) {
        REQUIRE_MESSAGE(why_not(p, c, s).empty(), canonical(c), ": ", why_not(p, c, s));
        REQUIRE_MESSAGE(texts.insert(canonical(c)).second, "twice: ", canonical(c));
    }
}

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("20000 random problems on ten generations: the default config can always run") {
    draw::Urn urn(1);
    int lacking = 0;
    for (int i = 0; i < 20000; i++) {
        const Problem p = draw::emitted_problem(urn);
        for (const int capability : draw::capabilities()) {
            const Silicon s = draw::silicon_of(capability);
            const std::string why = why_not(p, default_config(p, s), s);
            if (why.empty()) continue;
            const bool said = why.starts_with("accumulator: native") && hardware_lacks(p, s);
            REQUIRE_MESSAGE(said, canonical(p), " on sm_", capability, ": ", why);
            lacking++;
        }
    }
    CHECK(lacking > 100);
}

TEST_CASE("automatic, f32 and deterministic sums run on every generation, whatever the type") {
    for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64})
        for (const Accumulate sums : {Accumulate::automatic, Accumulate::f32, Accumulate::deterministic})
            for (const std::int64_t queries : {0, 300})
                for (const int capability : draw::capabilities()) {
                    const Problem p = draw::detr(Pass::backward, 2, queries, type, sums);
                    const Silicon s = draw::silicon_of(capability);
                    CHECK(why_not(p, default_config(p, s), s) == "");
                    if (sums == Accumulate::deterministic) CHECK(default_config(p, s).scatter == scatter_owned);
                }
}

TEST_CASE("decoders: owned pixels where zero-fill and rounding cost more than reading all points in each block") {
    const auto form = [](std::int64_t batch, std::int64_t queries, Type type, Accumulate sums, int capability = 90) {
        return default_config(draw::detr(Pass::backward, batch, queries, type, sums), draw::silicon_of(capability))
            .scatter;
    };
    // Each as measured on an H200, µs direct against owned.
    CHECK(form(2, 300, Type::f32, Accumulate::automatic) == scatter_direct);   // 35, 50
    CHECK(form(4, 300, Type::f32, Accumulate::automatic) == scatter_owned);    // 69, 62
    CHECK(form(2, 1100, Type::f32, Accumulate::automatic) == scatter_direct);  // 75, 170
    CHECK(form(1, 900, Type::f16, Accumulate::automatic) == scatter_direct);   // 56, 114
    CHECK(form(2, 300, Type::f16, Accumulate::automatic) == scatter_owned);
    CHECK(form(4, 300, Type::f16, Accumulate::native) == scatter_direct);  // 36, 61
    CHECK(form(2, 300, Type::f32, Accumulate::automatic, 80) == scatter_owned);
}

TEST_CASE("accumulators that the hardware lacks are refused with the reason") {
    const auto why = [](Type type, int capability) {
        const Problem p = draw::detr(Pass::backward, 2, 0, type, Accumulate::native);
        const Silicon s = draw::silicon_of(capability);
        return why_not(p, default_config(p, s), s);
    };
    CHECK(why(Type::bf16, 80) ==
          "accumulator: native bf16 needs sm_90 or newer (older GPUs have no hardware bf16 add), got sm_80");
    CHECK(why(Type::bf16, 89).find("got sm_89") != std::string::npos);
    CHECK(why(Type::bf16, 90) == "");
    CHECK(why(Type::f16, 50) == "accumulator: native f16 needs sm_60 or newer, got sm_50");
    CHECK(why(Type::f16, 60) == "");
    CHECK(why(Type::f32, 50) == "");
}

TEST_CASE("the space: the default first, all valid, no two alike") {
    draw::Urn urn(3);
    for (int i = 0; i < 60; i++) {
        const Problem p = draw::emitted_problem(urn);
        const Silicon s = draw::silicon_of(urn.pick({50, 70, 75, 80, 89, 90, 120}));
        if (why_not(p, default_config(p, s), s).empty()) check_space(p, s);
    }
    for (const Pass pass : {Pass::forward, Pass::backward})
        for (const std::int64_t queries : {0, 300}) check_space(draw::detr(pass, 2, queries, Type::f16), Silicon{});
}

TEST_CASE("the space is worth searching") {
    CHECK(space(draw::detr(Pass::forward, 2, 0, Type::f16), Silicon{}).size() > 100);
    const std::vector<Config> all = space(draw::detr(Pass::backward, 2, 0, Type::f16), Silicon{});
    std::set<int> forms;
    for (const Config& c : all) forms.insert(c.scatter);
    CHECK(forms == std::set<int>{scatter_direct, scatter_sorted, scatter_owned, scatter_dense});
    for (const Config& c : space(draw::detr(Pass::backward, 2, 0, Type::f16, Accumulate::deterministic), Silicon{}))
        REQUIRE(c.scatter == scatter_owned);
}

TEST_CASE("an empty problem has its default and nothing to search") {
    Problem p = draw::detr(Pass::forward, 2, 300, Type::f32);
    p.queries = 0;
    check_space(p, Silicon{});
    CHECK(space(p, Silicon{}).size() == 1);
}

TEST_CASE("each field out of its limits is refused by name, with the limit and what came") {
    const Problem p = draw::detr(Pass::backward, 2, 0, Type::f16);
    const Config good = default_config(p, Silicon{});
    const auto why = [&](int Config::*field, int value) {
        Config c = good;
        c.*field = value;
        return why_not(p, c, Silicon{});
    };
    CHECK(why(&Config::tile_width, 0) == "tile_width: expected 1 to 1024, got 0");
    CHECK(why(&Config::tile_height, -1) == "tile_height: expected 0 to 64, got -1");
    CHECK(why(&Config::heads, 33) == "heads: expected 1 to 32, got 33");
    CHECK(why(&Config::lanes, 3) == "lanes: expected a power of two up to 32, got 3");
    CHECK(why(&Config::vector, 32) == "vector: expected a power of two up to 16, got 32");
    CHECK(why(&Config::vector, 1) == "vector: expected at least the value's 2 bytes, got 1");
    CHECK(why(&Config::split, -2) == "split: expected a power of two up to 32, got -2");
    CHECK(why(&Config::staging, 2) == "staging: expected 0 to 1, got 2");
    CHECK(why(&Config::unroll, 0) == "unroll: expected 1 to 16, got 0");
    CHECK(why(&Config::min_blocks, 33) == "min_blocks: expected 0 to 32, got 33");
    CHECK(why(&Config::scatter, 4) == "scatter: expected 0 to 3, got 4");
    CHECK(why(&Config::threads, 1025) == "threads: expected 32 to 1024, got 1025");
    CHECK(why(&Config::cells, 0) == "cells: expected 1 to 8192, got 0");
    CHECK(why(&Config::kept, -1) == "kept: expected 0 to 16384, got -1");
    Config across = good;
    across.scatter = scatter_owned, across.kept = 0;
    across.heads = 3, across.split = 2, across.lanes = 4, across.tile_width = 4, across.tile_height = 0;
    across.threads = row_threads(across);
    CHECK(why_not(p, across, Silicon{}) ==
          "split: expected lanes × heads × split within one warp, a power of two, got 24");
    CHECK(why(&Config::levels_per_pass, 0) == "levels_per_pass: expected 1 to 16, got 0");
}

TEST_CASE("20000 random configs: refused in a sentence or run, never an overflow") {
    draw::Urn urn(4);
    int valid = 0;
    for (int i = 0; i < 20000; i++) {
        const Problem p = draw::emitted_problem(urn);
        Config c = default_config(p, Silicon{});
        for (const ConfigField& field : config_fields())
            if (urn.between(0, 5) == 0) c.*field.member = urn.pick({0, 1, 2, 4, 8, 16, 32, 64, 1024, -1, 8192});
        valid += why_not(p, c, Silicon{}).empty() ? 1 : 0;
    }
    CHECK(valid > 200);
    CHECK(valid < 19800);
}

TEST_SUITE_END();
