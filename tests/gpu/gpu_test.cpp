// What only a GPU can show: kernels of every form on random problems, exact sums, bit-equal runs, capture, indices past
// 2^31. Every case skips itself where there is no GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "generator/backward.hpp"
#include "runtime/current_context.hpp"
#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "runtime/shapes.hpp"
#include "runtime/verify/device_reference.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"
#include "tests/gpu/gpu.hpp"
#include "tests/runtime/random_problem.hpp"
#include "tools/cases/problems.hpp"

namespace msda {
namespace {

// How many random problems to try; MSDA_TEST_CASES raises it for a run at volume.
std::uint64_t case_count() {
    const char* text = std::getenv("MSDA_TEST_CASES");
    return text ? std::strtoull(text, nullptr, 10) : 60;
}

// Inputs on the device and one judged launch of a config.
struct Bench {
    Runtime& runtime;
    DevicePlace place = DevicePlace::of(runtime, Device::gpu());
    DeviceTensors tensors{place};
    Oracle oracle{runtime, place};
    DeviceReference on_device{runtime, place};

    Verification check(const Operator& op, const Inputs& inputs, Outputs* outputs = nullptr) {
        tensors.fit(op.problem(), op.workspace_bytes());
        tensors.upload(inputs);
        const ReferenceResult reference = oracle.compute(op.problem(), inputs, tensors);
        const Verification result = verify(op, tensors, reference, 0, outputs);
        // What the GPU confirms by itself, the host must find right too.
        on_device.set(op.problem(), reference);
        CHECK((!on_device.confirms(tensors) || result.complaint().find("norm error") == std::string::npos));
        return result;
    }
};

// Within three times the tolerance, for sums of few terms cancel more than a model's, and no write out of place. The
// gradients of a softmax's logits cancel to nothing where all points of a row read the same pixel.
bool close(const Problem& p, const Verification& result) {
    return result.overrun.empty() && std::ranges::all_of(result.verdicts, [&](const Verdict& v) {
               return v.difference.within(3 * v.tolerance) ||
                      (p.softmax && v.tensor == "grad_weights" && v.difference.max_error <= v.tolerance);
           });
}

Problem decoder(Type type, Pass pass) {
    Problem p;
    p.pass = pass;
    p.batch = 2;
    p.queries = 300;
    p.levels = {{20, 33}, {10, 17}};
    p.value = type;
    return p;
}

}  // namespace

TEST_SUITE("gpu") {
    TEST_CASE("the GPU confirms a right launch by itself, and not one with a single wrong element") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        Bench bench{*runtime};
        const Driver& driver = bench.place.context->driver();
        for (const Type type : {Type::f32, Type::f16, Type::bf16})
            for (const Pass pass : {Pass::forward, Pass::backward}) {
                const Operator op = runtime->prepare(decoder(type, pass));
                CHECK(bench.check(op, make_inputs(op.problem(), Locations::model)).passed());
                CHECK(bench.on_device.confirms(bench.tensors));
                void* const written =
                    pass == Pass::forward ? bench.tensors.addresses().output : bench.tensors.addresses().grad_locations;
                for (const int byte : {0xff, 0x7b}) {  // NaN; 60,000 and more in every type
                    op.launch(bench.tensors.addresses());
                    bench.place.wait();
                    CHECK(bench.on_device.confirms(bench.tensors));
                    const CurrentContext current(driver, bench.place.context->handle());
                    driver.check(driver.memset_d8_async, reinterpret_cast<CUdeviceptr>(written) + 4096,
                                 static_cast<unsigned char>(byte), std::size_t{4}, static_cast<CUstream>(nullptr));
                    CHECK_FALSE(bench.on_device.confirms(bench.tensors));
                }
            }
    }

    TEST_CASE("every kind of config computes random problems") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        Bench bench{*runtime};
        std::uint64_t ran = 0;
        for (std::uint64_t seed = 1; seed <= case_count(); seed++) {
            Problem problem = test::random_problem(seed);
            if (problem.pass == Pass::backward && problem.gradients.value)
                problem.accumulate = static_cast<Accumulate>(seed % 3 == 0 ? 0 : seed % 3 + 1);  // not native
            const Config fallback = default_config(problem, runtime->silicon(Device::gpu()));
            if (!why_not(problem, fallback, runtime->silicon(Device::gpu())).empty()) continue;
            Inputs inputs = make_inputs(problem, seed % 2 ? Locations::model : Locations::uniform, seed);
            test::roughen(problem, inputs, seed);
            const std::vector<Config> configs = space(problem, runtime->silicon(Device::gpu()));
            for (const Config& config : {fallback, configs[static_cast<std::size_t>(seed * 7919) % configs.size()]}) {
                const Operator op = runtime->prepare(problem, config, Device::gpu());
                const Verification result = bench.check(op, inputs);
                INFO("seed " << seed << ": " << canonical(problem) << " | " << canonical(config) << " | "
                             << result.complaint());
                CHECK(close(problem, result));
                ran++;
            }
        }
        MESSAGE(ran << " cases verified");
        CHECK(ran > 0);
    }

    TEST_CASE("fused softmax and references: every kind, type and form, forward and backward") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        Bench bench{*runtime};
        std::uint64_t ran = 0, seed = 0;
        for (const Pass pass : {Pass::forward, Pass::backward})
            for (const cases::NamedProblem& named : cases::fused_problems(pass)) {
                const Problem& problem = named.problem;
                seed++;
                Inputs inputs = make_inputs(problem, seed % 2 ? Locations::model : Locations::uniform, seed);
                test::roughen(problem, inputs, seed);
                const std::vector<Config> configs = space(problem, runtime->silicon(Device::gpu()));
                for (std::size_t i = 0; i < 4 && i < configs.size(); i++) {
                    const Config& config =
                        configs[i == 0 ? 0 : static_cast<std::size_t>(seed + i) * 7919 % configs.size()];
                    const Verification result = bench.check(runtime->prepare(problem, config, Device::gpu()), inputs);
                    INFO(named.name << ": " << canonical(config) << " | " << result.complaint());
                    CHECK(close(problem, result));
                    ran++;
                }
            }
        MESSAGE(ran << " cases verified");
        CHECK(ran > 100);
    }

    TEST_CASE("fused softmax and references: model shapes, held to the operator's tolerances") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        Bench bench{*runtime};
        for (const Pass pass : {Pass::forward, Pass::backward})
            for (const Type type : {Type::f32, Type::f16, Type::bf16})
                for (const Reference reference : {Reference::points, Reference::boxes}) {
                    Problem problem = problem_of(model_shape("ddetr-dec-b4"), pass, type);
                    problem.softmax = true;
                    problem.reference = reference;
                    problem.reference_levels = reference == Reference::boxes ? 1 : 4;
                    problem = normalise(problem);
                    const Verification result =
                        bench.check(runtime->prepare(problem), make_inputs(problem, Locations::model));
                    INFO(canonical(problem) << " | " << result.complaint());
                    CHECK(result.passed());
                }
    }

    TEST_CASE("deterministic sums are bit-equal over 20 runs, and between exact and family kernels of one config") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
            Problem p = decoder(type, Pass::backward);
            p.accumulate = Accumulate::deterministic;
            p.queries = 20 * 33 + 10 * 17;
            p = normalise(p);
            const Inputs inputs = make_inputs(p, Locations::model);
            Bench bench{*runtime};
            const Operator op = runtime->prepare(p);
            Outputs first;
            REQUIRE(bench.check(op, inputs, &first).passed());
            for (int run = 0; run < 20; run++) {
                Outputs again;
                REQUIRE(bench.check(op, inputs, &again).passed());
                CHECK(std::memcmp(first.grad_value.data(), again.grad_value.data(), first.grad_value.bytes()) == 0);
            }
        }
    }

    TEST_CASE("4096 queries on one pixel centre sum to 4096 in 16-bit types") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        for (const Type type : {Type::f16, Type::bf16})
            for (const Accumulate accumulate : {Accumulate::automatic, Accumulate::f32, Accumulate::deterministic}) {
                Problem p;
                p.pass = Pass::backward;
                p.queries = 4096;
                p.heads = 1;
                p.levels = {{8, 8}};
                p.points = {1};
                p.value = type;
                p.accumulate = accumulate;
                p = normalise(p);
                Inputs inputs = make_inputs(p, Locations::uniform);
                auto* xy = static_cast<float*>(inputs.locations.data());
                for (std::int64_t i = 0; i < 2 * p.queries; i++) xy[i] = (3 + 0.5f) / 8;
                std::fill_n(static_cast<float*>(inputs.weights.data()), p.queries, 1.0f);
                for (std::int64_t i = 0; i < p.queries * p.head_dim; i++)
                    host::write(type, inputs.grad_output.data(), i, 1.0);
                Bench bench{*runtime};
                Outputs outputs;
                CHECK(bench.check(runtime->prepare(p), inputs, &outputs).passed());
                CHECK(host::read(type, outputs.grad_value.data(), (3 * 8 + 3) * p.head_dim) == 4096.0);
            }
    }

    TEST_CASE("the last element of a value past 2^31 elements is right") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        Problem p;
        p.batch = 12;
        p.queries = 4;
        p.levels = {{720, 1000}};
        p.value = Type::f16;
        p = normalise(p);
        Bench bench{*runtime};
        CHECK(bench.check(runtime->prepare(p), make_inputs(p, Locations::uniform)).passed());
    }
}

}  // namespace msda
