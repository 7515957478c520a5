// Launch plans: golden for the shapes that matter, and the rules for empty, huge and family problems.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstring>

#include "generator/emit.hpp"
#include "generator/plan.hpp"
#include "tests/generator/draw.hpp"

using namespace msda;
using draw::error_of;

namespace {

Plan default_plan(const Problem& p) { return plan(p, default_config(p, Silicon{})); }

std::string buffer_name(Buffer buffer) {
    constexpr const char* names[] = {"value",           "locations",   "weights",    "references",     "scales",
                                     "output",          "grad_output", "grad_value", "grad_locations", "grad_weights",
                                     "grad_references", "workspace",   "shape"};
    return names[static_cast<int>(buffer)];
}

// One line a step: "zero workspace 1024" or "msda_forward 12x256 +0 value locations …".
std::string describe(const Plan& plan) {
    std::string text;
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Kind::zero) {
            text += fmt::format("zero {} {}\n", buffer_name(step.target.buffer), step.bytes);
            continue;
        }
        CHECK(step.grid[1] * step.grid[2] == 1);
        text += fmt::format("{} {}x{} +{}", step.kernel, step.grid[0], step.threads, step.shared_bytes);
        for (const Slot& slot : step.arguments) text += " " + buffer_name(slot.buffer);
        text += '\n';
    }
    return text + fmt::format("workspace {}\n", plan.workspace_bytes);
}

// FamilyShape<4> of templates/shape.cuh, field by field.
struct Shape4 {
    std::int64_t stride_image_, stride_pixel_, stride_head_;
    std::int32_t batch_, queries_, pixels_, tiles_;
    std::int32_t height_[4], width_[4], start_[4];
    std::int32_t tile_first_[4], tiles_across_[4];
    std::int32_t owned_first_[5], owned_chunks_[4], owned_plane_[5];
};

Shape4 shape_of(const Plan& plan) {
    Shape4 shape;
    REQUIRE(plan.shape.size() == sizeof shape);
    std::memcpy(&shape, plan.shape.data(), sizeof shape);
    return shape;
}

template <std::size_t N>
std::vector<int> list(const std::int32_t (&values)[N]) {
    return {values, values + N};
}

// Every block owns 4096 pixels and keeps all 1200 points that the queries have on one level.
const Config owned_decoder = parse_config(
    "tile_width=16 tile_height=0 heads=2 lanes=4 vector=16 split=4 staging=0 unroll=4 min_blocks=0 scatter=2 "
    "threads=512 cells=4096 kept=1280 levels_per_pass=1");

// With the tiles of the encoder's forward.
const Config tiled_forward = parse_config(
    "tile_width=8 tile_height=4 heads=2 lanes=4 vector=16 split=1 staging=0 unroll=4 min_blocks=4 scatter=0 "
    "threads=256 cells=1024 kept=0 levels_per_pass=1");

constexpr std::size_t value_elements = std::size_t{2} * 22223 * 8 * 32;

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("encoder forward, f16: 8x4 query tiles, two heads a block") {
    // 21·25 + 11·13 + 6·7 + 3·4 = 722 tiles, 2 images, 4 pairs of heads.
    CHECK(describe(plan(draw::detr(Pass::forward, 2, 0, Type::f16), tiled_forward)) ==
          "msda_forward 5776x256 +0 value locations weights scales output\n"
          "workspace 0\n");
}

TEST_CASE("decoder backward, f16: a block owns 4096 pixels; no zero-fill, no workspace, no second kernel") {
    // 4 images × 8 heads × (5 + 2 + 1 + 1) pixel ranges, and 4 × 4 × 19 blocks of 16 queries for the point gradients.
    CHECK(describe(plan(draw::detr(Pass::backward, 4, 300, Type::f16), owned_decoder)) ==
          "msda_backward 592x512 +68744 value locations weights grad_output grad_value grad_locations grad_weights\n"
          "workspace 0\n");
}

TEST_CASE("encoder backward: f32 sums of f16 go to a zeroed workspace and are rounded once") {
    const Plan p = default_plan(draw::detr(Pass::backward, 2, 0, Type::f16));
    CHECK(p.workspace_bytes == value_elements * 4);
    REQUIRE(p.steps.size() == 3);
    CHECK(describe(p).starts_with("zero workspace 45512704\nmsda_backward "));
    CHECK(p.steps[1].arguments[4] == Slot{Buffer::workspace});
    CHECK(p.steps[2].kernel == "msda_round");
    CHECK(p.steps[2].grid[0] * p.steps[2].threads * 8 >= value_elements);
    CHECK(p.steps[2].arguments == std::vector<Slot>{{Buffer::workspace}, {Buffer::grad_value}});
}

TEST_CASE("encoder backward: native and f32 sums go straight to a zeroed gradient") {
    for (const Type type : {Type::f16, Type::f32, Type::f64}) {
        const Plan p = default_plan(draw::detr(Pass::backward, 2, 0, type, Accumulate::native));
        REQUIRE(p.steps.size() == 2);
        CHECK(p.workspace_bytes == 0);
        CHECK(p.steps[0].kind == Step::Kind::zero);
        CHECK(p.steps[0].target == Slot{Buffer::grad_value});
        CHECK(p.steps[0].bytes == value_elements * bytes_of(type));
        CHECK(p.steps[1].arguments[4] == Slot{Buffer::grad_value});
    }
}

TEST_CASE("encoder backward, deterministic: chunk sums in the workspace, added in order; nothing is zeroed") {
    const Problem problem = draw::detr(Pass::backward, 2, 0, Type::f16, Accumulate::deterministic);
    const Plan p = default_plan(problem);
    REQUIRE(p.steps.size() == 2);
    CHECK(p.steps[0].kernel == "msda_backward");
    CHECK(p.steps[0].arguments[4] == Slot{Buffer::workspace});
    CHECK(p.steps[1].kernel == "msda_add_chunks");
    CHECK(p.steps[1].grid[0] * p.steps[1].threads >= value_elements);
    CHECK(p.workspace_bytes >= value_elements * 4);  // at least one f32 plane of each level
    CHECK(p.workspace_bytes % (std::size_t{2} * 8 * 32 * 4) == 0);
}

TEST_CASE("fused: a forward reads the references; a backward has its points and their gradients in the workspace") {
    Problem p = draw::detr(Pass::forward, 4, 300, Type::f16);
    p.softmax = true;
    p.reference = Reference::points;
    p.reference_levels = 4;
    CHECK(describe(default_plan(normalise(p))).find(" value locations weights references scales output\n") !=
          std::string::npos);
    p.pass = Pass::backward;
    p = normalise(p);
    // 4 · 300 · 8 · 16 points: x and y, weight, and the gradient of each, all f32; 4 · 300 queries, 8 warps a block.
    CHECK(describe(plan(p, owned_decoder)) ==
          "msda_fused_points 150x256 +0 locations weights references workspace workspace\n"
          "msda_backward 592x512 +68744 value workspace workspace grad_output grad_value workspace workspace\n"
          "msda_fused_gradients 150x256 +0 locations references workspace workspace workspace grad_locations "
          "grad_weights grad_references\n"
          "workspace 3686400\n");
    p.softmax = false;
    CHECK(describe(plan(p, owned_decoder))
              .find("msda_backward 592x512 +68744 value workspace weights grad_output "
                    "grad_value workspace grad_weights\n") != std::string::npos);
    p.gradients = {true, false, false};
    CHECK(describe(plan(normalise(p), owned_decoder)).find("msda_fused_gradients") == std::string::npos);
    p.gradients = {false, false, false};
    CHECK(default_plan(normalise(p)).steps.empty());
    CHECK(default_plan(normalise(p)).workspace_bytes == 0);
}

TEST_CASE("a gradient that is not asked for costs nothing") {
    Problem p = draw::detr(Pass::backward, 2, 0, Type::f16);
    p.gradients = {false, true, true};
    p = normalise(p);
    CHECK(default_plan(p).steps.size() == 1);  // no zero-fill, no rounding
    CHECK(default_plan(p).workspace_bytes == 0);
    p.gradients = {false, false, false};
    CHECK(default_plan(normalise(p)).steps.empty());
}

TEST_CASE("lesson 5: an empty problem launches nothing, and its value gradient is zero") {
    for (const Specialise specialise : {Specialise::exact, Specialise::family}) {
        Problem p = draw::detr(Pass::forward, 2, 300, Type::f16, Accumulate::automatic, specialise);
        p.queries = 0;
        CHECK(describe(default_plan(normalise(p))) == "workspace 0\n");
        p.pass = Pass::backward;
        CHECK(describe(default_plan(normalise(p))) == "zero grad_value 22756352\nworkspace 0\n");
        p.gradients.value = false;
        CHECK(describe(default_plan(normalise(p))) == "workspace 0\n");
        p.gradients.value = true, p.batch = 0, p.queries = 300;
        CHECK(describe(default_plan(normalise(p))) == "workspace 0\n");
    }
}

TEST_CASE("a grid past the hardware's limit is refused with the count") {
    Problem p = draw::detr(Pass::forward, 1, 300, Type::f32);
    p.levels = {{1, 1}};
    p.points = {1};
    p.pixels = 1;
    p.batch = 1 << 30;
    p.queries = 16;
    p = normalise(p);
    Config c;
    c.tile_width = 4, c.lanes = 8, c.heads = 1;
    const auto [code, message] = error_of([&] { plan(p, c); });
    CHECK(code == Code::invalid_problem);
    CHECK(message == "msda_forward: expected at most 2^31 - 1 blocks, got 34359738368");
    p.batch = 1 << 25;  // 2^25 · 8 heads · 4 tiles = 2^30
    CHECK(plan(p, c).steps.front().grid[0] == 1u << 30);
}

TEST_CASE("the launch argument of family kernels: fields of FamilyShape, in its order") {
    const Problem p = draw::detr(Pass::forward, 2, 0, Type::f16, Accumulate::automatic, Specialise::family);
    const Plan launch = plan(p, tiled_forward);
    CHECK(launch.steps.back().arguments.back() == Slot{Buffer::shape});
    const Shape4 shape = shape_of(launch);
    CHECK(shape.stride_image_ == 22223 * 8 * 32);
    CHECK(shape.stride_pixel_ == 8 * 32);
    CHECK(shape.stride_head_ == 32);
    CHECK(shape.batch_ == 2);
    CHECK(shape.queries_ == 22223);
    CHECK(shape.pixels_ == 22223);
    CHECK(shape.tiles_ == 722);
    CHECK(list(shape.height_) == std::vector<int>{100, 50, 25, 13});
    CHECK(list(shape.width_) == std::vector<int>{167, 84, 42, 21});
    CHECK(list(shape.start_) == std::vector<int>{0, 16700, 20900, 21950});
    CHECK(list(shape.tile_first_) == std::vector<int>{0, 525, 668, 710});
    CHECK(list(shape.tiles_across_) == std::vector<int>{21, 11, 6, 3});
    Problem exact = p;
    exact.specialise = Specialise::exact;
    CHECK(plan(exact, tiled_forward).shape.empty());
}

TEST_CASE("the launch argument of an owned backward counts the blocks that the grid has") {
    const Problem p = draw::detr(Pass::backward, 4, 300, Type::f16, Accumulate::automatic, Specialise::family);
    const Shape4 shape = shape_of(plan(p, owned_decoder));
    CHECK(list(shape.owned_first_) == std::vector<int>{0, 5, 7, 8, 9});
    CHECK(list(shape.owned_chunks_) == std::vector<int>{1, 1, 1, 1});
    CHECK(list(shape.owned_plane_) == std::vector<int>{0, 16700, 20900, 21950, 22223});
    CHECK(shape.tiles_ == 19);
}

TEST_CASE("the fields of FamilyShape in templates/shape.cuh stand in the order that plan writes") {
    std::string_view text;
    for (const TemplateFile& file : template_files())
        if (file.name == "shape.cuh") text = file.text;
    std::size_t at = text.find("struct FamilyShape");
    REQUIRE(at != std::string_view::npos);
    for (const char* declaration :
         {"i64 stride_image_, stride_pixel_, stride_head_;", "int batch_, queries_, pixels_, tiles_;",
          "int height_[L], width_[L], start_[L];", "int tile_first_[L], tiles_across_[L];",
          "int owned_first_[L + 1], owned_chunks_[L], owned_plane_[L + 1];"}) {
        CAPTURE(declaration);
        const std::size_t found = text.find(declaration, at);
        REQUIRE(found != std::string_view::npos);
        CHECK(text.substr(at, found - at).find("_;") == std::string_view::npos);  // no other field between
        at = found + std::string_view(declaration).size();
    }
}

TEST_CASE("2000 random problems: blocks fit the hardware, workspace and zero-fills hold what is summed") {
    draw::Urn urn(5);
    for (int i = 0; i < 2000; i++) {
        const Problem p = draw::emitted_problem(urn);
        const Config c = default_config(p, Silicon{});
        if (!why_not(p, c, Silicon{}).empty()) continue;
        CAPTURE(canonical(p));
        const Plan launch = plan(p, c);
        CHECK((launch.shape.empty()) == (p.specialise == Specialise::exact));
        CHECK(launch.shape.size() % 8 == 0);
        for (const Step& step : launch.steps) {
            if (step.kind == Step::Kind::zero) {
                CHECK(step.bytes % 2 == 0);
                if (step.target.buffer == Buffer::workspace) CHECK(step.bytes <= launch.workspace_bytes);
                continue;
            }
            CHECK(step.grid[0] >= 1);
            CHECK(step.threads % 32 == 0);
            CHECK(step.threads <= 1024);
            CHECK(step.shared_bytes <= 227u << 10);
            for (const Slot& slot : step.arguments)
                if (slot.buffer == Buffer::workspace) CHECK(slot.offset < launch.workspace_bytes);
        }
    }
}

TEST_SUITE_END();
