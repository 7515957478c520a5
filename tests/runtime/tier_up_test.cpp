// Tier-up on a fake GPU with a compiler that can be held: what a changing training asks of it, how much stays loaded,
// and what graphs, streams, failures and the end of the runtime may run into.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "generator/plan.hpp"
#include "runtime/current_context.hpp"
#include "runtime/device_stream.hpp"
#include "runtime/tier/tiers.hpp"
#include "tests/fakes/fake_driver_state.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tuning_db/family.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// A machine that tiers up, and whose background compilations wait while the gate is closed.
struct Tiered : FakeMachine {
    explicit Tiered(bool open = true) : gate(open) {
        nvrtc.on_compile = [this, caller = std::this_thread::get_id()] {
            if (std::this_thread::get_id() == caller) return;
            const int nth = ++background;
            gate.wait(false);
            if (on_background) on_background(nth);
        };
        restart([](Options&) {});
    }
    // The background may be inside the compiler, which must not wait for ever.
    ~Tiered() { open(); }

    template <class Change>
    void restart(Change change) {
        Options wanted = options();
        wanted.tier_up = true;
        change(wanted);
        runtime = std::make_unique<Runtime>(wanted);
        runtime->state().use_driver(driver.started());
        runtime->state().use_nvrtc(nvrtc.library());
    }
    void open() {
        gate = true;
        gate.notify_all();
    }
    int compilations() const { return nvrtc.calls("nvrtcCompileProgram"); }
    std::shared_ptr<DeviceContext> context() { return runtime->state().context_for(0); }

    std::atomic<bool> gate;
    std::atomic<int> background{0};          // compilations that have begun there
    std::function<void(int)> on_background;  // called in the nth, once the gate is open
};

// A shape of its own for each q.
Operator numbered(Tiered& m, int q) { return m.runtime->prepare(small_problem(q)); }

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

// Arguments of the kernel launched last: a family's takes the shape as well.
bool last_launch_was(const Tiered& m, const Operator& op, Specialise tier) {
    const Plan exact = plan(op.problem(), op.config());
    return (m.driver.launches().back().arguments.size() == exact.steps.back().arguments.size()) ==
           (tier == Specialise::exact);
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

TEST_CASE("modules stay bounded: kernels that have not run for long make room, those in use keep theirs") {
    Tiered m;
    const DeviceStream stream(m.context());
    constexpr int shapes = 150;
    std::vector<Operator> ops;
    const auto exact = [&] {
        return std::ranges::count_if(ops, [](const Operator& op) { return op.tier() == Specialise::exact; });
    };
    for (int q = 5; q < 5 + shapes; ++q) {
        ops.push_back(numbered(m, q));
        ops.back().launch(some_tensors(), stream.handle());
        m.runtime->settle();
    }
    // All ran lately: whoever came first keeps its place, the others stay with their family.
    CHECK(exact() == Tiers::exact_capacity);
    CHECK(ops.front().tier() == Specialise::exact);
    CHECK(m.driver.calls("cuModuleUnload") == 0);
    // The last shape alone, for long: it gets a place at a look that no event asks for.
    for (std::uint64_t i = 0; i < 2 * TieredOperator::pulse_period; ++i)
        ops.back().launch(some_tensors(), stream.handle());
    m.runtime->settle();
    CHECK(ops.back().tier() == Specialise::exact);
    CHECK(ops.front().tier() == Specialise::family);
    CHECK(exact() <= static_cast<std::ptrdiff_t>(Tiers::exact_capacity));
    // Launches on the stream show what has finished there, the next look unloads it.
    ops.back().launch(some_tensors(), stream.handle());
    const Operator another = numbered(m, 1000);
    m.runtime->settle();
    CHECK(m.driver.calls("cuModuleUnload") >= static_cast<int>(Tiers::outgoing_capacity));
    // One that lost its place runs, and asks for it again.
    ops.front().launch(some_tensors(), stream.handle());
    CHECK(last_launch_was(m, ops.front(), Specialise::family));
    CHECK(m.driver.peak_modules() <= static_cast<int>(Tiers::exact_capacity + Tiers::outgoing_capacity + 1));
    CHECK(m.driver.violations().empty());
}

TEST_CASE("operators that are gone need no kernel, and free the place of theirs") {
    Tiered m(false);
    std::optional<Operator> first = numbered(m, 5);
    std::optional<Operator> dropped = numbered(m, 6);
    while (m.background == 0) std::this_thread::yield();
    dropped.reset();
    m.runtime->state().forget_operators();
    m.open();
    m.runtime->settle();
    CHECK(m.background == 1);
    CHECK(m.driver.live_modules() == 2);
    first.reset();
    m.runtime->state().forget_operators();
    CHECK(m.driver.live_modules() == 1);  // the family's
}

TEST_CASE("a kernel whose launches are under way is unloaded after them, without waiting") {
    Tiered m;
    const DeviceStream held(m.context()), stream(m.context());
    const Operator first = numbered(m, 5);
    m.runtime->settle();
    m.driver.hold(held.handle());
    first.launch(some_tensors(), held.handle());
    std::vector<Operator> ops;
    for (int q = 6; q < 6 + static_cast<int>(Tiers::exact_capacity); ++q) {
        ops.push_back(numbered(m, q));
        m.runtime->settle();
        for (int i = 0; i < 40; ++i) ops.back().launch(some_tensors(), stream.handle());
    }
    m.runtime->settle();
    CHECK(first.tier() == Specialise::family);
    CHECK(ops.back().tier() == Specialise::exact);
    CHECK(m.driver.calls("cuModuleUnload") == 0);
    // Its stream reaches a launch after it; then anything that loads clears it away.
    first.launch(some_tensors(), held.handle());
    m.driver.finish(held.handle());
    m.runtime->settle();
    const Operator another = numbered(m, 1000);
    m.runtime->settle();
    CHECK(m.driver.calls("cuModuleUnload") >= 1);
    CHECK(m.driver.calls("cuStreamSynchronize") + m.driver.calls("cuCtxSynchronize") == 0);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("a captured graph replays under eviction pressure, whichever kernel it holds") {
    Tiered m(false);
    const DeviceStream stream(m.context());
    const Operator op = numbered(m, 5);
    const DeviceGraph on_family(stream, [&] { op.launch(some_tensors(), stream.handle()); });
    m.open();
    m.runtime->settle();
    const DeviceGraph on_exact(stream, [&] { op.launch(some_tensors(), stream.handle()); });
    CHECK(last_launch_was(m, op, Specialise::exact));
    std::vector<Operator> ops;
    for (int round = 0; round < 3; ++round)
        for (int q = 6; q < 6 + 100; ++q) {
            ops.push_back(numbered(m, q + 1000 * round));
            m.runtime->settle();
            for (int i = 0; i < 30; ++i) ops.back().launch(some_tensors(), stream.handle());
            on_family.launch(stream);
            on_exact.launch(stream);
        }
    CHECK(m.driver.calls("cuModuleUnload") > 100);
    CHECK(op.tier() == Specialise::exact);  // it cannot be unloaded, so nothing is won by letting it go
    m.runtime->state().forget_operators();
    ops.clear();
    on_family.launch(stream);
    on_exact.launch(stream);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("loading in the background leaves the captures of other threads valid") {
    Tiered m(false);
    const DeviceStream stream(m.context());
    const Operator op = numbered(m, 5);
    const auto driver = m.runtime->state().driver();
    const CurrentContext current(*driver, m.context()->handle());
    driver->check(driver->stream_begin_capture, stream.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    m.open();
    m.runtime->settle();
    CHECK(op.tier() == Specialise::exact);
    CHECK(m.driver.capture_valid(stream.handle()));
    CUgraph graph = nullptr;
    CHECK(driver->stream_end_capture(stream.handle(), &graph) == CUDA_SUCCESS);
    driver->graph_destroy(graph);
}

TEST_CASE("what fails in the background is one warning, never a failed launch, and is not tried again") {
    for (const bool compiler : {true, false}) {
        Tiered m;
        std::vector<Operator> ops = {numbered(m, 5)};
        m.runtime->settle();
        for (int q = 6; q < 9; ++q) {
            if (compiler)
                m.nvrtc.fail("nvrtcCompileProgram", 1);
            else
                m.driver.fail("cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
            ops.push_back(numbered(m, q));
            m.runtime->settle();
            CHECK(ops.back().tier() == Specialise::family);
        }
        REQUIRE(m.warnings.size() == 1);
        CHECK(m.warnings[0].find("launches stay on that of its family") != std::string::npos);
        CHECK(m.warnings[0].find("queries=6") != std::string::npos);
        const int before = m.compilations();
        for (const Operator& op : ops) op.launch(some_tensors());
        ops.push_back(numbered(m, 9));
        m.runtime->settle();
        CHECK(ops.back().tier() == Specialise::exact);
        CHECK(m.compilations() == before + 1);
        CHECK(m.warnings.size() == 1);
    }
}

TEST_CASE("the first shape's own failure is the caller's, as without tiers") {
    Tiered m;
    m.nvrtc.fail("nvrtcCompileProgram", 1);
    CHECK(error_of([&] { numbered(m, 5); }).first == Code::compile_failed);
    numbered(m, 5).launch(some_tensors());
    CHECK(m.warnings.empty());
}

TEST_CASE("a runtime that ends while a kernel is compiled waits for that one alone; its operators go on") {
    Tiered m(false);
    std::vector<Operator> ops;
    for (int q = 5; q < 15; ++q) ops.push_back(numbered(m, q));
    while (m.background == 0) std::this_thread::yield();
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        m.open();
    });
    m.runtime.reset();
    opener.join();
    CHECK(m.background == 1);
    for (const Operator& op : ops) op.launch(some_tensors());
    CHECK(m.driver.violations().empty());
    ops.clear();
    CHECK(m.driver.live_modules() == 0);
    CHECK(m.driver.primary_references(0) == 0);
}

TEST_CASE("a context that is destroyed takes its kernels along and stops nothing") {
    Tiered m(false);
    const CUcontext own = m.driver.make_context(0);
    m.driver.set_current(own);
    const Operator op = numbered(m, 5);
    while (m.background == 0) std::this_thread::yield();
    const Operator waiting = numbered(m, 6);
    m.driver.destroy_context(own);
    m.open();
    m.runtime->settle();
    CHECK(waiting.tier() == Specialise::family);
    m.driver.set_current(nullptr);
    const Operator primary = numbered(m, 5);
    primary.launch(some_tensors());
    m.runtime->settle();
    CHECK(primary.tier() == Specialise::exact);
    CHECK(m.driver.violations().empty());
}

TEST_CASE("threads launch, prepare and drop while kernels come and go") {
    Tiered m;
    constexpr int threads = 4, shapes = 40;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (int i = 0; i < 400; ++i) {
                const int q = 5 + (i * (t + 3)) % shapes + (t % 2) * 60;
                const Operator op = m.runtime->prepare(small_problem(q));
                for (int k = 0; k < 5; ++k) op.launch(some_tensors());
                if (i % 97 == 0) m.runtime->state().forget_operators();
                if (i % 131 == 0) m.runtime->settle();
            }
        });
    for (std::thread& thread : all) thread.join();
    m.runtime->settle();
    CHECK(m.driver.launches().size() == threads * 400 * 5);
    CHECK(m.driver.violations().empty());
    CHECK(m.warnings.empty());
}

TEST_SUITE_END();
