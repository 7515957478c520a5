// The emitted source: golden for one problem, equal from call to call and locale to locale, and as special as asked.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "generator/emit.hpp"
#include "tests/generator/comma_locale.hpp"
#include "tests/generator/draw.hpp"
#include "tests/paths.hpp"

using namespace msda;

namespace {

std::string default_source(const Problem& p) { return emit(p, default_config(p, Silicon{})); }

Problem family(Pass pass, std::int64_t queries, std::vector<Level> levels = {}) {
    Problem p = draw::detr(pass, 2, queries, Type::f16, Accumulate::automatic, Specialise::family);
    if (!levels.empty()) p.levels = std::move(levels), p.pixels = 0;
    return normalise(p);
}

Problem exact(Problem p) {
    p.specialise = Specialise::exact;
    return p;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

const std::vector<Level> smaller = {{60, 80}, {30, 40}, {15, 20}, {8, 10}};

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("golden: the forward of Deformable DETR's encoder in f16") {
    std::ifstream file(std::string(msda::test::source_folder()) + "/tests/golden/forward_ddetr_enc_f16.cu");
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    const Config c = parse_config(
        "tile_width=8 tile_height=4 heads=2 lanes=4 vector=16 split=1 staging=0 unroll=4 min_blocks=4 scatter=0 "
        "threads=256 cells=1024 kept=0 levels_per_pass=1");
    const std::string source = emit(draw::detr(Pass::forward, 2, 0, Type::f16), c);
    CHECK(golden.size() > 1000);
    CHECK_MESSAGE(source == golden, "write this to the golden file when the change is meant:\n", source);
}

TEST_CASE("lesson 32: byte-identical from call to call and under a locale with decimal commas") {
    draw::Urn urn(6);
    for (int i = 0; i < 200; i++) {
        const Problem p = draw::emitted_problem(urn);
        const Config c = default_config(p, Silicon{});
        const std::string source = emit(p, c);
        REQUIRE(emit(p, c) == source);
        const draw::CommaLocale comma;
        REQUIRE(emit(p, c) == source);
    }
}

TEST_CASE("exact: query count and level sizes are constants; family: they are not in the source") {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
        const Problem p = family(pass, 300), more = family(pass, 317), small = family(pass, 300, smaller);
        const Config c = default_config(p, Silicon{});
        CHECK(emit(p, c) == emit(more, c));
        CHECK(emit(p, c) == emit(small, c));
        CHECK(contains(emit(p, c), "FamilyShape<4>"));
        CHECK_FALSE(contains(emit(p, c), "167"));
        CHECK(emit(exact(p), c) != emit(exact(more), c));
        CHECK(emit(exact(p), c) != emit(exact(small), c));
        CHECK(contains(emit(exact(p), c), "167"));
        CHECK_FALSE(contains(emit(exact(p), c), "FamilyShape"));
    }
}

TEST_CASE("family: the source changes with the index width and with the points that a block keeps") {
    const Problem p = family(Pass::forward, 300);
    const Problem large = family(Pass::forward, 300, {{2000, 3340}, {50, 84}, {25, 42}, {13, 21}});
    const Config c = default_config(p, Silicon{});
    CHECK(contains(emit(p, c), "wide = false"));
    CHECK(contains(emit(large, c), "wide = true"));
    CHECK(emit(p, c) != emit(large, c));
    const auto deterministic = [](std::int64_t queries) {
        Problem of = family(Pass::backward, queries);
        of.accumulate = Accumulate::deterministic;
        return of;
    };
    const Problem few = deterministic(300), many = deterministic(700);
    CHECK(default_config(few, Silicon{}).kept == 1280);
    CHECK(default_config(many, Silicon{}).kept == 2816);
    CHECK(default_source(few) != default_source(many));
    CHECK(default_source(few) == default_source(deterministic(310)));  // a training's changing Q shares it
}

TEST_CASE("every field that a forward reads changes its source") {
    const Problem p = draw::detr(Pass::forward, 2, 0, Type::f16);
    const Config base = default_config(p, Silicon{});
    std::set<std::string> sources = {emit(p, base)};
    const std::vector<std::pair<int Config::*, int>> changes = {
        {&Config::tile_width, 4}, {&Config::tile_height, 8}, {&Config::heads, 1},
        {&Config::lanes, 2},      {&Config::vector, 8},      {&Config::split, 2},
        {&Config::staging, 0},    {&Config::unroll, 2},      {&Config::min_blocks, 2}};
    for (const auto& [field, value] : changes) {
        Config c = base;
        REQUIRE(c.*field != value);
        c.*field = value;
        sources.insert(emit(p, c));
    }
    CHECK(sources.size() == changes.size() + 1);
}

TEST_CASE("lesson 31: templates include templates only, and sources include what exists") {
    std::set<std::string_view> names;
    for (const TemplateFile& file : template_files()) names.insert(file.name);
    const auto check_includes = [&](std::string_view text) {
        int count = 0;
        for (std::size_t at = text.find("#include"); at != std::string_view::npos; at = text.find("#include", at + 1)) {
            const std::string_view line = text.substr(at, text.find('\n', at) - at);
            const std::size_t open = line.find('"');
            REQUIRE_MESSAGE(open != std::string_view::npos, line);
            const std::string_view file = line.substr(open + 1, line.find('"', open + 1) - open - 1);
            CHECK_MESSAGE(names.count(file) == 1, file);
            count++;
        }
        return count;
    };
    int includes = 0;
    for (const TemplateFile& file : template_files()) includes += check_includes(file.text);
    CHECK(includes > 10);
    for (const Pass pass : {Pass::forward, Pass::backward})
        for (const std::int64_t queries : {0, 300})
            CHECK(check_includes(default_source(draw::detr(pass, 2, queries, Type::f16))) >= 1);
}

TEST_SUITE_END();
