// A judge that cannot say no is worthless: operators that are wrong in each way that lessons.md knows of must be
// caught.
#include "runtime/verify/verify.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "runtime/cpu/cpu.hpp"
#include "runtime/operator_state.hpp"
#include "runtime/verify/oracle.hpp"

namespace {

using namespace msda;

Problem small(Pass pass, Type type) {
    Problem p;
    p.pass = pass;
    p.queries = 9;
    p.heads = 2;
    p.head_dim = 8;
    p.levels = {{5, 4}, {3, 2}};
    p.points = {2};
    p.value = p.weight = type;
    return normalise(p);
}

// The CPU path, spoilt afterwards.
struct Spoilt final : Operator::State {
    std::function<void(const Tensors&)> spoil;
    Spoilt(const Problem& p, std::function<void(const Tensors&)> how)
        : State({p, {}, "given", "spoilt"}), spoil(std::move(how)) {
        workspace_bytes = 64;
    }
    void launch(const Tensors& tensors, Stream) const override {
        cpu_launch(identity.problem, tensors, 1);
        spoil(tensors);
    }
};

Verification judge(const Problem& p, std::function<void(const Tensors&)> spoil) {
    const Operator op(std::make_shared<Spoilt>(p, std::move(spoil)));
    const Inputs inputs = make_inputs(p, Locations::model);
    DeviceTensors tensors{DevicePlace{}};
    tensors.fit(p, op.workspace_bytes());
    tensors.upload(inputs);
    return verify(op, tensors, compute_reference(p, inputs.tensors()));
}

float* floats(void* tensor) { return static_cast<float*>(tensor); }

}  // namespace

TEST_SUITE_BEGIN("verify");

TEST_CASE("the CPU path itself passes, in every type and both passes") {
    for (const Type type : {Type::f32, Type::f16, Type::bf16})
        for (const Pass pass : {Pass::forward, Pass::backward}) {
            const Verification v = judge(small(pass, type), [](const Tensors&) {});
            CHECK(v.passed());
            CHECK(v.complaint() == "");
            CHECK(v.verdicts.size() == (pass == Pass::forward ? 1 : 3));
            CHECK(v.norm_error() > 0);
        }
}

TEST_CASE("an element left unwritten is caught, since outputs start as NaN") {
    const Verification v = judge(small(Pass::forward, Type::f32),
                                 [](const Tensors& t) { std::memset(floats(t.output) + 17, 0xff, sizeof(float)); });
    CHECK_FALSE(v.passed());
    CHECK(v.complaint().find("output") != std::string::npos);
    CHECK(v.complaint().find("element 17") != std::string::npos);
}

TEST_CASE("one wrong element is caught") {
    CHECK_FALSE(
        judge(small(Pass::forward, Type::f32), [](const Tensors& t) { floats(t.output)[3] += 0.01f; }).passed());
}

TEST_CASE("zeros returned are caught") {
    const Problem p = small(Pass::backward, Type::f32);
    const Verification v = judge(p, [&](const Tensors& t) {
        std::memset(t.grad_value, 0, static_cast<std::size_t>(p.pixels * p.heads * p.head_dim) * sizeof(float));
    });
    CHECK_FALSE(v.passed());
    CHECK(v.norm_error() == doctest::Approx(1));
    CHECK(v.complaint().find("grad_value") != std::string::npos);
    CHECK(v.complaint().find("grad_weights") == std::string::npos);
}

TEST_CASE("a write just before or just past a tensor is caught by its guards") {
    const Problem p = small(Pass::forward, Type::f32);
    const std::int64_t count = sizes(p).output;
    const Verification past = judge(p, [&](const Tensors& t) { floats(t.output)[count] = 0; });
    CHECK_FALSE(past.passed());
    CHECK(past.overrun == "output");
    const Verification before = judge(p, [](const Tensors& t) { floats(t.output)[-1] = 0; });
    CHECK(before.overrun == "output");
    const Verification scratch = judge(p, [](const Tensors& t) { static_cast<char*>(t.workspace)[64] = 0; });
    CHECK(scratch.overrun == "workspace");
    CHECK(scratch.complaint().find("workspace") != std::string::npos);
}

TEST_CASE("coarse native sums are reported, not failed, yet a wrong kernel still is") {
    Problem p = small(Pass::backward, Type::f16);
    p.accumulate = Accumulate::native;
    const auto scaled = [&](float factor) {
        return [&p, factor](const Tensors& t) {
            // Exact for powers of two; 0.875 of an f16 is rounded, which is what is meant here.
            auto* halves = static_cast<std::uint16_t*>(t.grad_value);
            for (std::int64_t i = 0; i < p.pixels * p.heads * p.head_dim; i++)
                if (factor == 0)
                    halves[i] = 0;
                else if ((halves[i] & 0x7c00) > 0x0400 && i % 8 == 0)
                    halves[i] = static_cast<std::uint16_t>(halves[i] - 0x0400);
        };
    };
    const Verification coarse = judge(p, scaled(0.5f));  // each eighth element halved
    CHECK(coarse.norm_error() > 1e-2);
    CHECK(coarse.passed());
    CHECK_FALSE(judge(p, scaled(0)).passed());
    p.accumulate = Accumulate::f32;
    CHECK_FALSE(judge(p, scaled(0.5f)).passed());
}

TEST_CASE("tensors are aligned as the problem says and no better") {
    for (const std::int64_t alignment : {2, 4, 8, 16}) {
        Problem p = small(Pass::backward, Type::f16);
        p.alignment = alignment;
        DeviceTensors tensors{DevicePlace{}};
        tensors.fit(p, 0);
        const Tensors t = tensors.addresses();
        for (const void* address : {t.value, t.weights, static_cast<const void*>(t.grad_value)}) {
            CHECK(reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) == 0);
            if (alignment < 16)
                CHECK(reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(2 * alignment) != 0);
        }
        CHECK(t.output == nullptr);
        CHECK(t.workspace == nullptr);
    }
}

TEST_CASE("one set of tensors serves problems of different sizes in turn") {
    DeviceTensors tensors{DevicePlace{}};
    for (const Pass pass : {Pass::backward, Pass::forward, Pass::backward})
        for (const std::int64_t batch : {1, 3, 0, 2}) {
            Problem p = small(pass, Type::f32);
            p.batch = batch;
            const Operator op(std::make_shared<Spoilt>(p, [](const Tensors&) {}));
            const Inputs inputs = make_inputs(p, Locations::uniform);
            tensors.fit(p, 64);
            tensors.upload(inputs);
            CHECK(verify(op, tensors, compute_reference(p, inputs.tensors())).passed());
        }
}

TEST_SUITE_END();
