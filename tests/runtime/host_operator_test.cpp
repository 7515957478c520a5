#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// Inputs of a small forward with some points outside the map, and room for its output.
struct Forward {
    explicit Forward(const Problem& problem) {
        const Sizes count = sizes(problem);
        const auto fill = [](std::vector<float>& tensor, std::int64_t size, float step, float least) {
            for (std::int64_t i = 0; i < size; ++i)
                tensor.push_back(least + std::fmod(step * static_cast<float>(i), 1.2f));
        };
        fill(value, count.value, 0.37f, -0.5f);
        fill(locations, count.locations, 0.23f, -0.1f);
        fill(weights, count.weights, 0.11f, 0.0f);
        output.assign(static_cast<std::size_t>(count.output), -1.0f);
    }
    Tensors tensors() {
        Tensors tensors;
        tensors.value = value.data();
        tensors.locations = locations.data();
        tensors.weights = weights.data();
        tensors.output = output.data();
        return tensors;
    }

    std::vector<float> value;
    std::vector<float> locations;
    std::vector<float> weights;
    std::vector<float> output;
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("CPU and emulated operators answer alike and refuse the same mistakes") {
    if (std::system("c++ --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: no C++ compiler for the emulation");
        return;
    }
    Runtime runtime{Options{}};
    Problem problem = small_problem();
    problem.alignment = 4;
    const Operator cpu = runtime.prepare(problem, Device::cpu());
    const Operator emulated = runtime.prepare(problem, Device::emulated());
    CHECK(cpu.workspace_bytes() == 0);
    CHECK(cpu.source_digest() == emulated.source_digest());
    Forward expected(cpu.problem());
    Forward got(cpu.problem());
    cpu.launch(expected.tensors());
    emulated.launch(got.tensors());
    float difference = 0;
    for (std::size_t i = 0; i < got.output.size(); ++i)
        difference = std::max(difference, std::abs(got.output[i] - expected.output[i]));
    CHECK(difference < 1e-5f);
    for (const Operator& op : {cpu, emulated}) {
        Tensors tensors = got.tensors();
        tensors.weights = nullptr;
        CHECK(error_of([&] { op.launch(tensors); }).second == "weights: expected an address, got null");
        tensors = got.tensors();
        tensors.output = reinterpret_cast<char*>(tensors.output) + 2;
        CHECK(
            error_of([&] { op.launch(tensors); }).second.starts_with("output: expected an address aligned to 4 bytes"));
    }
}

TEST_CASE("a fused softmax of equal logits is a mean over the points, on both host devices") {
    Runtime runtime{Options{}};
    Problem problem = small_problem();
    problem.alignment = 4;
    problem.softmax = true;
    for (const Device device : {Device::cpu(), Device::emulated()}) {
        const Operator op = runtime.prepare(problem, device);
        Forward call(op.problem());
        std::fill(call.weights.begin(), call.weights.end(), 3.0f);
        std::fill(call.value.begin(), call.value.end(), 5.0f);
        std::fill(call.locations.begin(), call.locations.end(), 0.5f);
        op.launch(call.tensors());
        for (const float output : call.output) CHECK(output == doctest::Approx(5));
    }
}

TEST_CASE("an empty backward on host devices zeroes the gradient of a value that exists") {
    Runtime runtime{Options{}};
    Problem problem = small_problem(0);
    problem.pass = Pass::backward;
    for (const Device device : {Device::cpu(), Device::emulated()}) {
        std::vector<float> gradient(30 * 2 * 32, 7.0f);
        Tensors tensors;
        tensors.grad_value = gradient.data();
        Problem loose = problem;
        loose.alignment = 4;
        runtime.prepare(loose, device).launch(tensors);
        CHECK(gradient == std::vector<float>(gradient.size(), 0.0f));
    }
}

TEST_SUITE_END();
