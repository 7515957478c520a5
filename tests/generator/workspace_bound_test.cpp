// The bound of the workspace holds for every smaller problem and every config that can run it, and is not far above
// what the largest needs.
#include <doctest/doctest.h>

#include <algorithm>

#include "generator/fusion.hpp"
#include "generator/plan.hpp"
#include "msda/workspace.hpp"
#include "tests/generator/draw.hpp"

using namespace msda;

namespace {

Problem largest_problem(draw::Urn& urn) {
    Problem p = draw::any_problem(urn);
    p.pass = Pass::backward;
    p.value_strides = {0, 0, 0};
    if (p.value == Type::e4m3) p.value = p.output;
    return normalise(p);
}

Problem smaller_problem(const Problem& largest, draw::Urn& urn) {
    Problem p = largest;
    p.batch = urn.between(0, largest.batch);
    p.queries = urn.between(0, largest.queries);
    for (Level& level : p.levels) {
        level.height = urn.between(1, level.height);
        level.width = urn.between(1, level.width);
        if (largest.encoder_like()) level.start = -1;
    }
    if (largest.encoder_like()) p.pixels = 0;
    p = normalise(p);
    if (largest.encoder_like() && urn.coin()) p.queries = p.pixels;
    return p;
}

// A few of a problem's configs, far apart in the space; none where its sums are refused on this GPU.
std::vector<Config> some_configs(const Problem& p, draw::Urn& urn) {
    const std::vector<Config> all = space(p, Silicon());
    std::vector<Config> some;
    for (int i = 0; i < 25 && !all.empty(); i++)
        some.push_back(all[static_cast<std::size_t>(urn.between(0, static_cast<std::int64_t>(all.size()) - 1))]);
    return some;
}

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("the workspace of every smaller problem is within the bound") {
    draw::Urn urn(31);
    int with_workspace = 0;
    for (int i = 0; i < 60; i++) {
        const Problem largest = largest_problem(urn);
        for (const Problem& p : {largest, smaller_problem(largest, urn), smaller_problem(largest, urn)})
            for (const Config& config : some_configs(p, urn)) {
                const std::size_t bytes = plan(p, config).workspace_bytes;
                INFO(canonical(largest) << "\n" << canonical(p) << "\n" << canonical(config));
                CHECK(bytes <= workspace_bound(largest, config));
                CHECK(bytes <= workspace_bound(largest));
                with_workspace += bytes > 0;
            }
    }
    CHECK(with_workspace > 300);
}

TEST_CASE("the bound of a config is what the largest problem needs, at most doubled where chunks are rounded down") {
    draw::Urn urn(32);
    for (int i = 0; i < 60; i++) {
        const Problem p = unfused(largest_problem(urn));
        if (p.empty()) continue;
        for (const Config& config : some_configs(p, urn)) {
            const std::size_t bytes = plan(p, config).workspace_bytes;
            INFO(canonical(p) << "\n" << canonical(config));
            if (config.scatter == scatter_owned && bytes > 0)
                CHECK(workspace_bound(p, config) <=
                      2 * bytes + static_cast<std::size_t>(p.batch * p.heads * p.head_dim * 8) * p.levels.size());
            else if (config.scatter != scatter_owned)
                CHECK(workspace_bound(p, config) == bytes);
        }
    }
}

TEST_CASE("what a fused front end adds to the bound is what it adds to the plan") {
    draw::Urn urn(33);
    int added = 0;
    for (int i = 0; i < 60; i++) {
        const Problem p = largest_problem(urn);
        if (p.empty() || !fused(p)) continue;
        INFO(canonical(p));
        for (const Config& config : some_configs(p, urn)) {
            const std::size_t sums = workspace_bound(unfused(p), config);
            CHECK(workspace_bound(p, config) - sums >= fusion_bytes(p));
            CHECK(workspace_bound(p, config) - sums < fusion_bytes(p) + 256);
            CHECK(plan(p, config).workspace_bytes >= plan(unfused(p), config).workspace_bytes + fusion_bytes(p));
            added++;
        }
    }
    CHECK(added > 100);
}

TEST_CASE("the bound in numbers: Deformable DETR's encoder, batch up to 2") {
    const auto bound = [](Pass pass, Type type, Accumulate accumulate) {
        return workspace_bound(draw::detr(pass, 2, 0, type, accumulate));
    };
    constexpr std::size_t elements = 2 * 22223 * 256;
    CHECK(bound(Pass::forward, Type::f16, Accumulate::automatic) == 0);
    CHECK(bound(Pass::backward, Type::f16, Accumulate::automatic) >= elements * sizeof(float));
    Problem points_only = draw::detr(Pass::backward, 2, 0, Type::f16);
    points_only.gradients.value = false;
    CHECK(workspace_bound(points_only) == 0);
    const Config dense = default_config(draw::detr(Pass::backward, 2, 0, Type::f16), Silicon());
    REQUIRE(dense.scatter == scatter_dense);
    CHECK(workspace_bound(draw::detr(Pass::backward, 2, 0, Type::f16), dense) == elements * sizeof(float));
    CHECK(workspace_bound(draw::detr(Pass::backward, 2, 0, Type::f16, Accumulate::native), dense) == 0);
}

TEST_SUITE_END();
