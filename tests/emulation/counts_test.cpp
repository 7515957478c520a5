// What is counted of memory accesses: the model on single warp accesses, the grouping in kernels, and pins for the
// shipped configs.
#include <doctest/doctest.h>

#include "generator/emit.hpp"
#include "runtime/emulation/sanitizers.hpp"
#include "tests/emulation/kernels.hpp"
#include "tools/cases/problems.hpp"

using namespace msda;
using namespace msda::cases;
using namespace msda::test;
using emulation::Access;
using emulation::AccessCounts;
using emulation::Counts;
using emulation::LaneAccess;

namespace {

// `lanes` lanes, lane i at address(i).
template <class Address>
AccessCounts count(int lanes, int bytes, Address address) {
    std::vector<LaneAccess> parts;
    for (int lane = 0; lane < lanes; lane++) parts.push_back({lane, static_cast<std::uint64_t>(address(lane)), bytes});
    return emulation::count_warp_access(parts);
}

bool cannot_count() {
    if (emulation::under_tsan) MESSAGE("skipped: accesses are not counted under ThreadSanitizer");
    return emulation::under_tsan;
}

// The value gather of a kernel: the place in the templates that asks for most bytes.
AccessCounts gather(const Counts& counts) {
    AccessCounts most;
    for (const auto& [place, at] : counts.places)
        if (place.kind == Access::global_load && at.bytes > most.bytes) most = at;
    return most;
}

Counts counts_of(const Problem& p, const Config& config, Scene scene) {
    const Plan steps = plan(p, config);
    const SceneTensors tensors(p, scene, steps.workspace_bytes);
    EmulationSettings settings;
    settings.count = true;
    return emulator().run(steps, *emulator().compile(emit(p, config)), tensors.tensors(),
                          emulation_extents(p, steps, tensors.tensors()), settings);
}

Problem small_encoder(Type type) {
    return normalise(problem_of(Pass::forward, 1, 16 * 24 + 8 * 12, 8, 32, {{16, 24}, {8, 12}}, {4}, type));
}

// The default config of Deformable DETR's encoder at 800×1333, which small_encoder() stands for.
Config shipped_encoder_config(Type type) {
    return default_config(
        normalise(problem_of(Pass::forward, 1, 22223, 8, 32, {{100, 167}, {50, 84}, {25, 42}, {13, 21}}, {4}, type)),
        Silicon{});
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("one warp access: sectors, lines, wavefronts, conflicts") {
    CHECK(count(32, 4, [](int i) { return 4 * i; }) == AccessCounts{1, 32, 128, 4, 1, 1, 0});
    CHECK(count(32, 4, [](int) { return 64; }) == AccessCounts{1, 32, 128, 1, 1, 1, 0});             // broadcast
    CHECK(count(32, 4, [](int i) { return 128 * i; }) == AccessCounts{1, 32, 128, 32, 32, 32, 31});  // one bank
    CHECK(count(32, 4, [](int i) { return 132 * i; }) == AccessCounts{1, 32, 128, 32, 32, 1, 0});    // padded
    CHECK(count(32, 8, [](int i) { return 8 * i; }) == AccessCounts{1, 32, 256, 8, 2, 2, 0});
    CHECK(count(32, 16, [](int i) { return 16 * i; }) == AccessCounts{1, 32, 512, 16, 4, 4, 0});
    CHECK(count(32, 2, [](int i) { return 2 * i; }) == AccessCounts{1, 32, 64, 2, 1, 1, 0});
    CHECK(count(5, 1, [](int i) { return 31 + i; }) == AccessCounts{1, 5, 5, 2, 1, 1, 0});
}

TEST_CASE("two 64-byte rows at once: opposite halves of lines in one wavefront, the same half in two") {
    const auto rows = [](int second) {
        return count(8, 16, [&](int i) { return i < 4 ? 16 * i : second + 16 * (i - 4); });
    };
    CHECK(rows(5 * 128 + 64) == AccessCounts{1, 8, 128, 4, 2, 1, 0});
    CHECK(rows(5 * 128) == AccessCounts{1, 8, 128, 4, 2, 2, 1});
    CHECK(rows(0) == AccessCounts{1, 8, 128, 2, 1, 1, 0});  // the same row twice
}

TEST_CASE("lanes are grouped by place and occurrence, meetings separate them") {
    if (cannot_count()) return;
    SmallLaunch launch{
        kernel_source("for (int i = 0; i < (t < 16 ? 3 : 1); i++)\n"
                      "load_shared(shared + t * 32);\n"
                      "block_barrier();\n"
                      "load_shared(shared + t);\n"
                      "shared_add(shared, 1);\n"
                      "store_global<4>(out + t, Raw<4>{});")};
    launch.shared_bytes = 32 * 128;
    launch.settings.count = true;
    const std::vector<int> in(1);
    alignas(128) static std::vector<int> out(32);
    const Counts counts = run_small(launch, in, out);
    CHECK(counts.places.at({"body", 2, Access::shared_load}) == AccessCounts{3, 64, 256, 64, 64, 64, 61});
    CHECK(counts.places.at({"body", 4, Access::shared_load}) == AccessCounts{1, 32, 128, 4, 1, 1, 0});
    CHECK(counts.of(Access::shared_load).requests == 4);
    CHECK(counts.of(Access::shared_atomic) == AccessCounts{1, 32, 128, 1, 1, 1, 0});
    CHECK(counts.of(Access::global_store).bytes == 128);
    CHECK(counts.of(Access::global_load).requests == 0);
    launch.settings.count = false;
    CHECK(run_small(launch, in, out).places.empty());
}

TEST_CASE("the shipped f16 encoder forward gathers without bank conflicts, two heads a warp") {
    if (cannot_count()) return;
    const Problem p = small_encoder(Type::f16);
    Config config = shipped_encoder_config(Type::f16);
    CHECK(config.heads == 2);
    const AccessCounts two = gather(counts_of(p, config, Scene::uniform));
    CHECK(two.bank_conflicts == 0);
    CHECK(two.bytes == two.lanes * 16);
    // One head a warp: rows of 64 bytes meet in the same half of their lines.
    config.heads = 1;
    config.tile_height *= 2;
    const AccessCounts one = gather(counts_of(p, config, Scene::uniform));
    CHECK(one.lanes == two.lanes);
    CHECK(one.bank_conflicts > one.requests);
}

TEST_CASE("the shipped f32 encoder forward gathers whole lines") {
    if (cannot_count()) return;
    const AccessCounts counts =
        gather(counts_of(small_encoder(Type::f32), shipped_encoder_config(Type::f32), Scene::uniform));
    CHECK(counts.bank_conflicts == 0);
    CHECK(counts.wavefronts == counts.lanes / 8);
    CHECK(counts.lines <= counts.wavefronts);
    CHECK(counts.sectors == 4 * counts.lines);
}

TEST_SUITE_END();
