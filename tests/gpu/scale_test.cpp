// Large problems on a GPU: the largest encoders in use, more than 65,535 rows, gradients past 2^31 elements. Every case
// skips itself where there is no GPU.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "runtime/shapes.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"
#include "tests/gpu/gpu.hpp"

namespace msda {
namespace {

void check(Runtime& runtime, const Problem& problem) {
    const DevicePlace place = DevicePlace::of(runtime, Device::gpu());
    DeviceTensors tensors(place);
    Oracle oracle(runtime, place);
    const Operator op = runtime.prepare(problem);
    const Inputs inputs = make_inputs(problem, Locations::model);
    tensors.fit(problem, op.workspace_bytes());
    tensors.upload(inputs);
    const Verification result = verify(op, tensors, oracle.compute(problem, inputs, tensors));
    INFO(canonical(problem) << " | " << result.complaint());
    CHECK(result.passed());
}

}  // namespace

TEST_SUITE("gpu") {
    TEST_CASE("scale: five-scale DINO and Co-DINO ViT-L (S = 218,240), forward and backward") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        for (const char* id : {"dino5-enc", "codino-vit-enc"})
            for (const Pass pass : {Pass::forward, Pass::backward})
                for (const Type type : {Type::f32, Type::f16}) check(*runtime, problem_of(model_shape(id), pass, type));
    }

    TEST_CASE("scale: more than 65,535 rows of images and heads") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        for (const Pass pass : {Pass::forward, Pass::backward})
            for (const auto& [batch, heads] :
                 {std::pair<std::int64_t, std::int64_t>{8200, 8}, {1, 65600}, {70000, 1}}) {
                Problem p;
                p.pass = pass;
                p.batch = batch;
                p.queries = 3;
                p.heads = heads;
                p.head_dim = 8;
                p.levels = {{3, 2}, {2, 2}};
                check(*runtime, normalise(p));
            }
    }

    TEST_CASE("scale: the last element of a gradient past 2^31 elements is right, whatever sums it") {
        Runtime* runtime = test::gpu();
        if (!runtime) return;
        for (const Accumulate accumulate : {Accumulate::native, Accumulate::automatic, Accumulate::deterministic}) {
            Problem p;
            p.pass = Pass::backward;
            p.batch = 12;
            p.queries = 4;
            p.levels = {{720, 1000}};
            p.value = Type::f16;
            p.accumulate = accumulate;
            p = normalise(p);
            REQUIRE(sizes(p).value > std::int64_t{1} << 31);
            // Every point on the centre of the last pixel, each with a quarter of weight 1: 4 queries add 4.
            Inputs inputs;
            inputs.value = HostBuffer(static_cast<std::size_t>(sizes(p).value) * 2);
            inputs.locations = HostBuffer(static_cast<std::size_t>(sizes(p).locations) * 4);
            inputs.weights = HostBuffer(static_cast<std::size_t>(sizes(p).weights) * bytes_of(p.weight));
            inputs.grad_output = HostBuffer(static_cast<std::size_t>(sizes(p).output) * 2);
            auto* xy = static_cast<float*>(inputs.locations.data());
            for (std::int64_t i = 0; i < sizes(p).locations; i += 2) {
                xy[i] = 999.5f / 1000;
                xy[i + 1] = 719.5f / 720;
            }
            for (std::int64_t i = 0; i < sizes(p).weights; i++) host::write(p.weight, inputs.weights.data(), i, 0.25);
            for (std::int64_t i = 0; i < sizes(p).output; i++) host::write(p.value, inputs.grad_output.data(), i, 1.0);
            const DevicePlace place = DevicePlace::of(*runtime, Device::gpu());
            DeviceTensors tensors(place);
            const Operator op = runtime->prepare(p);
            tensors.fit(p, op.workspace_bytes());
            tensors.upload(inputs);
            tensors.poison();
            op.launch(tensors.addresses());
            place.wait();
            CHECK(tensors.overrun().empty());
            Outputs outputs;
            tensors.download(outputs);
            INFO(canonical(p));
            const std::int64_t row = p.heads * p.head_dim, count = sizes(p).value;
            std::int64_t wrong = 0;
            for (std::int64_t i = count - 2 * row; i < count; i++)
                wrong += host::read(p.value, outputs.grad_value.data(), i) != (i < count - row ? 0.0 : 4.0);
            CHECK(wrong == 0);
        }
    }
}

}  // namespace msda
