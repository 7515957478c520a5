// The emitted kernels themselves, on every problem of problems.hpp, under several configs and scenes, against the
// reference in double precision. MSDA_TEST_CONFIGS=N tries N configs a problem besides the default one (1 by default).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "runtime/compare.hpp"
#include "runtime/emulation/sanitizers.hpp"
#include "runtime/numbers.hpp"
#include "runtime/parallel.hpp"
#include "tests/emulation/kernels.hpp"
#include "tests/matrix.hpp"
#include "tools/cases/problems.hpp"

using namespace msda;
using namespace msda::cases;
using namespace msda::test;

namespace {

// The config the heuristic picks and `others` more, spread over the search space.
std::vector<Config> some_configs(const Problem& problem, std::size_t others) {
    const std::vector<Config> all = space(problem, Silicon{});
    REQUIRE_FALSE(all.empty());
    std::vector<Config> some = {all.front()};
    for (std::size_t i = 1; i <= others && all.size() > 1; i++)
        some.push_back(all[1 + (all.size() - 1) * (2 * i - 1) / (2 * others)]);
    return some;
}

struct Run {
    NamedProblem named;
    Config config;
    std::shared_ptr<const EmulatedModule> module;
};

// Configs besides the default one for the problem in that place of the list.
std::size_t extra_configs(std::size_t place) {
    const char* wanted = std::getenv("MSDA_TEST_CONFIGS");
    return wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : place % 3 == 0 ? 1 : 0;
}

// Builds the modules, as many at a time as the machine has threads.
std::vector<Run> build(std::vector<Run> runs) {
    parallel_for(thread_count(0), static_cast<std::int64_t>(runs.size()), 1, [&](std::int64_t i, std::int64_t, int) {
        Run& run = runs[static_cast<std::size_t>(i)];
        run.module = emulator().compile(emit(run.named.problem, run.config));
    });
    return runs;
}

std::vector<Run> build(const std::vector<NamedProblem>& problems) {
    std::vector<Run> runs;
    for (std::size_t i = 0; i < problems.size(); i++)
        for (const Config& config : some_configs(problems[i].problem, extra_configs(i)))
            runs.push_back({problems[i], config, nullptr});
    return build(std::move(runs));
}

// Native sums round at each red: their error is reported, not bounded by the operator's tolerance.
double allowed(const Problem& p, const Verdict& verdict) {
    if (verdict.tensor != "grad_value" || p.accumulate != Accumulate::native || bytes_of(p.value) != 2)
        return verdict.tolerance;
    return p.value == Type::f16 ? 2e-2 : 1.5e-1;
}

// On one place all points of a softmax have one gradient, and the logits' is the rounding of a difference of equals:
// its absolute error is bounded.
bool cancels(const Problem& p, Scene scene, const Verdict& verdict) {
    return p.softmax && scene == Scene::contended && verdict.tensor == "grad_weights" &&
           verdict.difference.max_error < 1e-5;
}

// In these modes points outside the map are moved to its border, all others contribute exactly zero there.
bool clamps(const Problem& p) { return p.sampling == Sampling::rtdetrv2 || p.sampling == Sampling::rtdetrv2_square; }

// Empty when the run's results agree with the reference, else what went wrong.
std::string failure(const Run& run, Scene scene, emulation::Order order) {
    const Problem& p = run.named.problem;
    const Plan steps = plan(p, run.config);
    const SceneTensors scene_tensors(p, scene, steps.workspace_bytes);
    const Tensors& tensors = scene_tensors.tensors();
    EmulationSettings settings;
    settings.order = order;
    settings.poison = order == emulation::Order::ascending ? 0xffffffffu : 0x7149f2cau;
    try {
        emulator().run(steps, *run.module, tensors, emulation_extents(p, steps, tensors), settings);
    } catch (const Error& error) {
        return error.what();
    }
    for (const Verdict& verdict : verify(p, compute_reference(p, tensors, 1), tensors, 1))
        if ((!verdict.difference.within(allowed(p, verdict)) && !cancels(p, scene, verdict)) ||
            (scene == Scene::outside && !clamps(p) && verdict.difference.max_error != 0))
            return fmt::format("{}: norm error {}, max error {} at element {}", verdict.tensor,
                               verdict.difference.norm_error, verdict.difference.max_error, verdict.difference.worst);
    return "";
}

void check_all(const std::vector<Run>& runs) {
    int turn = 0;
    for (const Run& run : runs)
        for (const Scene scene : {Scene::model, Scene::uniform, Scene::hostile, Scene::outside, Scene::contended}) {
            const auto order = ++turn % 2 == 0 ? emulation::Order::ascending : emulation::Order::descending;
            INFO(run.named.name, ", ", name(scene), " locations, ", canonical(run.config));
            const std::string why = failure(run, scene, order);
            CHECK(why == "");
        }
}

// The default config with some fields changed.
using Fields = std::vector<std::pair<int Config::*, int>>;
Run run_with(const NamedProblem& named, const Fields& fields) {
    Config config = default_config(named.problem, Silicon{});
    for (const auto& [field, value] : fields) config.*field = value;
    REQUIRE(why_not(named.problem, config, Silicon{}) == "");
    return {named, config, nullptr};
}

std::vector<Run> build(const NamedProblem& named, const std::vector<Fields>& wanted) {
    std::vector<Run> runs;
    for (const Fields& fields : wanted) runs.push_back(run_with(named, fields));
    return build(std::move(runs));
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

// In the slices each problem that both passes have is checked in one of them.
TEST_CASE("forward kernels agree with the reference") { check_all(build(slice_of(forward_problems(), 2))); }

TEST_CASE("backward kernels agree with the reference") { check_all(build(slice_of(backward_problems(), 2, 1))); }

TEST_CASE("fused forward kernels agree with the reference") {
    check_all(build(slice_of(fused_problems(Pass::forward), 4)));
}

TEST_CASE("fused backward kernels agree with the reference") {
    check_all(build(slice_of(fused_problems(Pass::backward), 3, 2)));
}

TEST_CASE("every form of the forward agrees with the reference") {
    using C = Config;
    const Fields plain = {{&C::tile_width, 8}, {&C::lanes, 4}, {&C::heads, 1}, {&C::split, 1}, {&C::min_blocks, 0}};
    const auto with = [&](const Fields& more) {
        Fields all = plain;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    check_all(build(forward_problems()[1],
                    {with({{&C::staging, 1}}), with({{&C::staging, 1}, {&C::split, 4}, {&C::heads, 2}}),
                     with({{&C::staging, 1}, {&C::unroll, 2}, {&C::lanes, 2}, {&C::tile_width, 16}}),
                     with({{&C::heads, 8}}), with({{&C::split, 8}, {&C::tile_width, 3}, {&C::unroll, 1}})}));
}

TEST_CASE("every form of the backward agrees with the reference") {
    using C = Config;
    const auto with = [](int scatter, const Fields& more) {
        Fields all = {{&C::scatter, scatter}, {&C::tile_width, 64}, {&C::lanes, 4},   {&C::heads, 1}, {&C::split, 1},
                      {&C::min_blocks, 0},    {&C::threads, 256},   {&C::cells, 512}, {&C::kept, 0}};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    check_all(build(
        backward_problems()[1],
        {with(scatter_direct, {{&C::split, 4}, {&C::tile_width, 16}}),
         with(scatter_direct, {{&C::heads, 4}, {&C::tile_width, 16}}),
         with(scatter_sorted, {{&C::levels_per_pass, 1}, {&C::threads, 128}}),
         with(scatter_sorted, {{&C::levels_per_pass, 2}}),
         with(scatter_sorted, {{&C::levels_per_pass, 4}, {&C::cells, 4096}}), with(scatter_owned, {{&C::cells, 64}}),
         with(scatter_owned, {{&C::cells, 128}, {&C::split, 2}, {&C::tile_width, 32}})}));
}

TEST_CASE("every form of a fused backward agrees with the reference") {
    using C = Config;
    Problem p = problem_of(Pass::backward, 2, 45, 2, 32, {{9, 7}, {4, 4}, {1, 3}}, {4, 2, 3}, Type::f16);
    p.softmax = true;
    p.reference = Reference::boxes;
    p.reference_levels = 1;
    const auto with = [](int scatter, const Fields& more) {
        Fields all = {{&C::scatter, scatter}, {&C::tile_width, 32}, {&C::tile_height, 0}, {&C::lanes, 4},
                      {&C::heads, 1},         {&C::split, 1},       {&C::vector, 16},     {&C::min_blocks, 0},
                      {&C::threads, 128},     {&C::cells, 64},      {&C::kept, 0},        {&C::levels_per_pass, 2}};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    check_all(build({"softmax and a box", normalise(p)},
                    {with(scatter_direct, {{&C::split, 2}}), with(scatter_sorted, {{&C::cells, 512}}),
                     with(scatter_owned, {}), with(scatter_owned, {{&C::kept, 256}}), with(scatter_dense, {})}));
}

TEST_CASE("the dense backward agrees with the reference") {
    using C = Config;
    std::size_t turn = 0;  // of the slice: each problem with one config, each config with two problems
    for (const Type type : {Type::f16, Type::bf16})
        for (const std::int64_t points : {1, 3, 4}) {
            Problem p =
                problem_of(Pass::backward, 2, 9 * 7 + 4 * 4 + 3, 2, 32, {{9, 7}, {4, 4}, {1, 3}}, {points}, type);
            p.accumulate = points == 3 ? Accumulate::native : Accumulate::automatic;
            const auto with = [](int width, int height, int owners, int cells) {
                return Fields{{&C::scatter, scatter_dense},
                              {&C::tile_width, width},
                              {&C::tile_height, height},
                              {&C::threads, width * std::max(1, height) * owners},
                              {&C::cells, cells},
                              {&C::heads, 1},
                              {&C::split, 1},
                              {&C::lanes, 4},
                              {&C::vector, 16},
                              {&C::min_blocks, 0},
                              {&C::kept, 0}};
            };
            const std::vector<Fields> configs = {with(8, 4, 1, 32), with(32, 0, 2, 64), with(4, 4, 4, 16)};
            check_all(build({fmt::format("dense, {} points", points), normalise(p)}, slice_of(configs, 3, turn++ % 3)));
        }
}

TEST_CASE("an Inf or NaN of one row leaves the others as they are") {
    // One value pixel and one query's grad_output; what neither touches stays finite and right.
    for (const Type type : {Type::f16, Type::f32})
        for (const Pass pass : {Pass::forward, Pass::backward}) {
            const Problem p = normalise(problem_of(pass, 1, 8 * 8, 2, 32, {{8, 8}}, {2}, type));
            const Config config = default_config(p, Silicon{});
            const Plan steps = plan(p, config);
            const SceneTensors scene(p, Scene::model, steps.workspace_bytes);
            const Tensors& t = scene.tensors();
            const auto module = emulator().compile(emit(p, config));
            const auto spoil = [&](const void* tensor, std::int64_t at) {
                host::write(type, const_cast<void*>(tensor), at, std::numeric_limits<double>::infinity());
            };
            pass == Pass::forward ? spoil(t.value, 64 * 27 + 5) : spoil(t.grad_output, 64 * 27 + 5);
            emulator().run(steps, *module, t, emulation_extents(p, steps, t));
            INFO(name(type), " ", name(pass), " ", canonical(config));
            const ReferenceResult reference = compute_reference(p, t, 1);
            const void* result = pass == Pass::forward ? t.output : t.grad_value;
            const auto& wanted = pass == Pass::forward ? reference.output : reference.grad_value;
            std::int64_t finite = 0;
            for (std::size_t i = 0; i < wanted.size(); i++) {
                if (!std::isfinite(wanted[i])) continue;
                finite++;
                const double got = host::read(type, result, static_cast<std::int64_t>(i));
                REQUIRE(std::abs(got - wanted[i]) <= 2e-3 * (1 + std::abs(wanted[i])));
            }
            CHECK(finite > 3000);
            CHECK(finite < static_cast<std::int64_t>(wanted.size()));
        }
}

TEST_CASE("deterministic sums are bit-equal whatever the order of threads and blocks") {
    for (const bool fused : {false, true}) {
        Problem p = problem_of(Pass::backward, 2, 200, 2, 32, {{9, 9}, {4, 4}}, {4}, Type::f32);
        p.accumulate = Accumulate::deterministic;
        p.softmax = fused;
        if (fused) p.reference = Reference::points, p.reference_levels = 1;
        p = normalise(p);
        const Config config = default_config(p, Silicon{});
        const Plan steps = plan(p, config);
        const auto module = emulator().compile(emit(p, config));
        std::vector<char> first;
        for (const int workers : {1, 2, 3})
            for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
                const SceneTensors scene(p, Scene::model, steps.workspace_bytes);
                const Tensors& t = scene.tensors();
                EmulationSettings settings;
                settings.workers = workers;
                settings.order = order;
                emulator().run(steps, *module, t, emulation_extents(p, steps, t), settings);
                std::vector<char> now;
                for (const auto& [tensor, elements] :
                     {std::pair{t.grad_value, sizes(p).value}, std::pair{t.grad_weights, sizes(p).weights},
                      std::pair{t.grad_references, sizes(p).references}}) {
                    const char* bytes = static_cast<const char*>(tensor);
                    now.insert(now.end(), bytes, bytes + elements * 4);
                }
                if (first.empty()) first = now;
                CHECK(now == first);
            }
    }
}

TEST_CASE("4096 queries on one pixel sum to 4096") {
    for (const Type type : {Type::f16, Type::bf16}) {
        const Problem p = normalise(problem_of(Pass::backward, 1, 4096, 1, 8, {{3, 4}}, {1}, type));
        for (const Config& config : some_configs(p, 1)) {
            const Plan steps = plan(p, config);
            const SceneTensors scene(p, Scene::contended, steps.workspace_bytes);
            const Tensors& t = scene.tensors();
            for (std::int64_t i = 0; i < sizes(p).output; i++)
                host::write(type, const_cast<void*>(t.grad_output), i, 1.0);
            for (std::int64_t i = 0; i < sizes(p).weights; i++)
                host::write(Type::f32, const_cast<void*>(t.weights), i, 1.0);
            emulator().run(steps, *emulator().compile(emit(p, config)), t, emulation_extents(p, steps, t));
            INFO(name(type), " ", canonical(config));
            for (std::int64_t d = 0; d < 8; d++) CHECK(host::read(type, t.grad_value, d) == 4096);
        }
    }
}

TEST_CASE("a tiny shape runs in well under a second") {
    const Problem p =
        normalise(problem_of(Pass::forward, 1, 64, 8, 32, {{8, 8}, {4, 4}, {2, 2}, {1, 1}}, {4}, Type::f32));
    const Config config = default_config(p, Silicon{});
    const Plan steps = plan(p, config);
    const auto module = emulator().compile(emit(p, config));
    const SceneTensors scene(p, Scene::model, steps.workspace_bytes);
    const auto begin = std::chrono::steady_clock::now();
    emulator().run(steps, *module, scene.tensors(), emulation_extents(p, steps, scene.tensors()));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    MESSAGE("emulated forward of a tiny shape: ", taken.count() * 1e3, " ms");
    CHECK(taken.count() < (emulation::under_asan || emulation::under_tsan ? 30 : 5));
}

TEST_SUITE_END();
