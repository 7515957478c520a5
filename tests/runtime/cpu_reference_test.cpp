// The CPU path against the double-precision reference: a random matrix of problems, every shipped instruction set, any
// number of threads.
#include <doctest/doctest.h>

#include <cstring>

#include "runtime/compare.hpp"
#include "runtime/cpu/cpu.hpp"
#include "runtime/cpu/kernels.hpp"
#include "tests/runtime/random_problem.hpp"

namespace {

using namespace msda;

void check_against_reference(const Problem& problem, const Inputs& inputs, int threads) {
    const Outputs outputs = make_outputs(problem);
    const Tensors tensors = outputs.tensors(inputs.tensors());
    cpu_launch(problem, tensors, threads);
    const ReferenceResult reference = compute_reference(problem, inputs.tensors(), 2);
    const std::vector<Verdict> verdicts = verify(problem, reference, tensors, 1);
    CHECK(!verdicts.empty());
    for (const Verdict& verdict : verdicts) {
        CAPTURE(verdict.tensor);
        CAPTURE(verdict.difference.worst);
        // A problem of a few dozen elements may cancel more than a real one: twice the tolerance.
        CHECK(verdict.difference.norm_error <= 2 * verdict.tolerance);
    }
}

bool same_bytes(const HostBuffer& a, const HostBuffer& b) {
    return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("cpu: equal to the reference on random problems, all options, rough locations") {
        for (std::uint64_t seed = 1000; seed < 1600; seed++) {
            const Problem problem = test::random_problem(seed);
            const std::string text = canonical(problem);
            CAPTURE(seed);
            CAPTURE(text);
            Inputs inputs = make_inputs(problem, seed % 2 ? Locations::uniform : Locations::model, seed, 1);
            test::roughen(problem, inputs, seed);
            check_against_reference(problem, inputs, 1 + static_cast<int>(seed % 4));
        }
    }

    TEST_CASE("cpu: bit-equal for any number of threads and with any accumulator") {
        Problem problem;
        problem.pass = Pass::backward;
        problem.batch = 2;
        problem.queries = 700;
        problem.levels = {{20, 30}, {10, 15}};
        problem.value = problem.weight = Type::f16;
        problem = normalise(problem);
        const Inputs inputs = make_inputs(problem, Locations::model);
        const Outputs one = make_outputs(problem);
        cpu_launch(problem, one.tensors(inputs.tensors()), 1);
        for (const int threads : {2, 3, 16}) {
            problem.accumulate = Accumulate::deterministic;
            const Outputs many = make_outputs(problem);
            cpu_launch(problem, many.tensors(inputs.tensors()), threads);
            CHECK(same_bytes(one.grad_value, many.grad_value));
            CHECK(same_bytes(one.grad_locations, many.grad_locations));
            CHECK(same_bytes(one.grad_weights, many.grad_weights));
        }
    }

    TEST_CASE("cpu: the baseline instruction set computes the same as the fastest") {
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3}) {
            Problem problem;
            problem.queries = 37;
            problem.head_dim = 45;
            problem.levels = {{9, 8}, {3, 5}};
            problem.value = type;
            problem.output = type == Type::e4m3 ? Type::f16 : type;
            problem.location = type == Type::f64 ? Type::f64 : Type::f32;
            problem.weight = Type::f32;
            problem = normalise(problem);
            Inputs inputs = make_inputs(problem, Locations::uniform);
            test::roughen(problem, inputs, 5);
            const Outputs outputs = make_outputs(problem);
            const Tensors tensors = outputs.tensors(inputs.tensors());
            const cpu::Job job{problem, tensors, host::places(problem), problem.total_points(), problem.strides()};
            cpu::baseline_kernels(type).forward(job, 0, problem.queries);
            const ReferenceResult reference = compute_reference(problem, inputs.tensors());
            CHECK(verify(problem, reference, tensors).front().passed);
        }
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64}) {
            Problem problem;
            problem.pass = Pass::backward;
            problem.queries = 37;
            problem.heads = 1;
            problem.head_dim = 45;
            problem.levels = {{9, 8}, {3, 5}};
            problem.value = type;
            problem = normalise(problem);
            const Inputs inputs = make_inputs(problem, Locations::uniform);
            const Outputs outputs = make_outputs(problem);
            const Tensors tensors = outputs.tensors(inputs.tensors());
            const cpu::Job job{problem, tensors, host::places(problem), problem.total_points(), problem.strides()};
            std::memset(tensors.grad_value, 0, outputs.grad_value.bytes());
            cpu::baseline_kernels(type).point_gradients(job, 0, problem.queries);
            cpu::baseline_kernels(type).value_gradient(job, {0, 0, 0, 2});
            const ReferenceResult reference = compute_reference(problem, inputs.tensors());
            for (const Verdict& verdict : verify(problem, reference, tensors)) CHECK(verdict.passed);
        }
    }
}
