// Tier-up on a fake GPU: what a changing training asks of it, in which order, and who goes without.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/tiered_machine.hpp"
#include "tuning_db/family.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

Problem feature_pyramid(std::int64_t image, Pass pass, Type type) {
    Problem p;
    p.pass = pass;
    p.value = p.output = type;
    p.batch = 4;
    for (const std::int64_t stride : {8, 16, 32}) p.levels.push_back({image / stride, image / stride});
    return p;
}

// What an RT-DETR training runs: the 13 entries of its list of image sizes (three are 640), and a number of denoising
// queries that follows the labels of the batch.
std::vector<Problem> rtdetr_training(Type type) {
    std::vector<Problem> all;
    std::int64_t extra = 0;
    for (const int image : {480, 512, 544, 576, 608, 640, 640, 640, 672, 704, 736, 768, 800})
        for (const Pass pass : {Pass::forward, Pass::backward}) {
            all.push_back(feature_pyramid(image, pass, type));
            all.back().queries = 300 + (extra += 7) % 200;
        }
    return all;
}

// DINO: an encoder over images of changing size, a decoder whose Q changes from step to step.
std::vector<Problem> dino_training(Type type) {
    std::vector<Problem> all;
    for (const std::int64_t height : {100, 84, 60})
        for (const Pass pass : {Pass::forward, Pass::backward})
            for (const std::int64_t pad : {0, 42, 100, 198}) {
                Problem p;
                p.pass = pass;
                p.value = p.output = type;
                p.batch = 2;
                std::int64_t pixels = 0;
                for (std::int64_t h = height, w = 167; p.levels.size() < 4; h = (h + 1) / 2, w = (w + 1) / 2) {
                    p.levels.push_back({h, w});
                    pixels += h * w;
                }
                p.queries = pad == 0 ? pixels : 900 + pad;
                all.push_back(p);
            }
    return all;
}

}  // namespace

TEST_SUITE_BEGIN("tier_up");

TEST_CASE("a new shape runs at once on its family's kernel, and on its own once that is compiled") {
    Tiered m(false);
    const Operator op = m.runtime->prepare(small_problem());
    CHECK(op.tier() == Specialise::family);
    CHECK(op.problem().specialise == Specialise::exact);
    const std::size_t workspace = op.workspace_bytes();
    op.launch(some_tensors());
    CHECK(last_launch_was(m, op, Specialise::family));
    m.open();
    m.runtime->settle();
    CHECK(op.tier() == Specialise::exact);
    op.launch(some_tensors());
    CHECK(last_launch_was(m, op, Specialise::exact));
    CHECK(op.workspace_bytes() == workspace);
    CHECK(m.compilations() == 2);
}

TEST_CASE("an operator tells of its exact kernel from the start, as a runtime without tiers does") {
    Tiered m(false);
    m.restart([](Options& options) { options.tier_up = false; });
    const Operator plain = m.runtime->prepare(small_problem());
    CHECK(plain.tier() == Specialise::exact);
    m.restart([](Options&) {});
    const Operator op = m.runtime->prepare(small_problem());
    CHECK(op.tier() == Specialise::family);
    CHECK(op.config() == plain.config());
    CHECK(op.config_origin() == plain.config_origin());
    CHECK(op.source_digest() == plain.source_digest());
}

TEST_CASE("trainings with changing shapes wait for the compiler at the first call of a family only") {
    for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
        Tiered m(false);  // while it is closed, whoever waits for the background waits for ever
        std::vector<Operator> ops;
        std::set<std::string> families;
        for (const auto& training : {rtdetr_training(type), dino_training(type)})
            for (const Problem& problem : training) {
                const int before = m.compilations();
                ops.push_back(m.runtime->prepare(problem));
                ops.back().launch(some_tensors());
                const bool first = families.insert(family_of(ops.back().problem())).second;
                CHECK(m.compilations() - before == (first ? 1 : 0));
                CHECK(ops.back().tier() == Specialise::family);
            }
        CHECK(families.size() == 6);  // RT-DETR's decoder, DINO's encoder and decoder, two passes each
        CHECK(m.driver.live_modules() == 6);
        m.open();
        m.runtime->settle();
        for (const Operator& op : ops) {
            CHECK(op.tier() == Specialise::exact);
            CHECK(op.workspace_bytes() >= plan(op.problem(), op.config()).workspace_bytes);
            op.launch(some_tensors());
        }
        CHECK(m.warnings.empty());
        CHECK(m.driver.violations().empty());
    }
}

TEST_CASE("the shapes that run most are compiled first") {
    Tiered m(false);
    const Operator first = numbered(m, 5);
    while (m.background == 0) std::this_thread::yield();  // the compiler is busy with it
    const Operator rare = numbered(m, 6), often = numbered(m, 7);
    for (int i = 0; i < 3; ++i) often.launch(some_tensors());
    rare.launch(some_tensors());
    std::vector<Specialise> at_third;
    m.on_background = [&](int nth) {
        if (nth == 3) at_third = {often.tier(), rare.tier()};
    };
    m.open();
    m.runtime->settle();
    CHECK(at_third == std::vector{Specialise::exact, Specialise::family});
}

TEST_CASE(
    "no tiers in deterministic mode, for deterministic sums, a config given, family problems, nothing to compute") {
    Tiered m;
    Problem sums = small_problem();
    sums.pass = Pass::backward;
    sums.accumulate = Accumulate::deterministic;
    CHECK(m.runtime->prepare(sums).tier() == Specialise::exact);
    const Config config = default_config(normalise(small_problem()), Silicon());
    CHECK(m.runtime->prepare(small_problem(), config).tier() == Specialise::exact);
    Problem family = small_problem(6);
    family.specialise = Specialise::family;
    CHECK(m.runtime->prepare(family).tier() == Specialise::family);
    m.runtime->prepare(small_problem(0)).launch(Tensors{});
    const int before = m.compilations();
    m.runtime->settle();
    CHECK(m.compilations() == before);
    CHECK(m.background == 0);
    m.restart([](Options& options) { options.deterministic = true; });
    CHECK(m.runtime->prepare(small_problem()).tier() == Specialise::exact);
}

TEST_CASE("a call is judged alike on both kernels: each address that either needs") {
    Tiered m(false);
    Problem problem = small_problem(40);
    problem.pass = Pass::backward;
    problem.value = problem.output = Type::f16;
    const Operator op = m.runtime->prepare(problem);
    REQUIRE(op.workspace_bytes() > 0);
    Tensors tensors = some_tensors();
    tensors.workspace = nullptr;
    const auto refusal = [&] { return error_of([&] { op.launch(tensors); }).second; };
    CHECK(refusal() == "workspace: expected an address, got null");
    m.open();
    m.runtime->settle();
    CHECK(op.tier() == Specialise::exact);
    CHECK(refusal() == "workspace: expected an address, got null");
}

TEST_SUITE_END();
