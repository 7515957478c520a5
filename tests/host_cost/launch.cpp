// What a launch costs the host: through Operator, through the C interface and, to compare, the bare cuLaunchKernel of
// the same kernel with the same arguments. Google Benchmark; the kernels are tiny, so that the queue never fills. Exit
// status 77 without a GPU.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <memory>

#include "msda/msda.h"
#include "runtime/module.hpp"
#include "runtime/runtime_state.hpp"

namespace {

using namespace msda;

constexpr int launches_a_round = 100;

Problem tiny(Specialise specialise) {
    Problem problem{.queries = 1, .levels = {{4, 6}, {2, 3}}};
    problem.specialise = specialise;
    return normalise(problem);
}

// One GPU, an operator on it, and memory that is large enough for any of its tensors.
class Machine {
  public:
    Machine() {
        driver_.check(driver_.ctx_push_current, context_->handle());
        driver_.check(driver_.mem_alloc, &memory_, std::size_t{1} << 20);
        driver_.check(driver_.stream_create, &stream_, unsigned{CU_STREAM_NON_BLOCKING});
        driver_.check(driver_.memset_d32_async, memory_, 0u, std::size_t{1} << 18, stream_);
        wait();
    }
    void* memory() const { return reinterpret_cast<void*>(memory_); }
    CUstream stream() const { return stream_; }
    void wait() const { driver_.check(driver_.stream_synchronize, stream_); }
    const Driver& driver() const { return driver_; }
    const std::shared_ptr<DeviceContext>& context() const { return context_; }

  private:
    std::shared_ptr<DeviceContext> context_ = Runtime::shared().state().context_for(0);
    const Driver& driver_ = context_->driver();
    CUdeviceptr memory_ = 0;
    CUstream stream_ = nullptr;
};

const Machine& machine() {
    static const Machine* const one = new Machine;
    return *one;
}

// Runs rounds of launches; the wait at the end of a round is in the time, a hundredth of it a launch.
template <class Launch>
void measure(benchmark::State& state, Launch launch) {
    for (auto _ : state) {
        for (int i = 0; i < launches_a_round; i++) launch();
        machine().wait();
    }
    state.counters["launch"] = benchmark::Counter(
        launches_a_round, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

Tensors tensors() {
    void* const memory = machine().memory();
    return {.value = memory, .locations = memory, .weights = memory, .output = memory};
}

void bare(benchmark::State& state) {
    const Operator op = Runtime::shared().prepare(tiny(Specialise::exact));
    const Plan steps = plan(op.problem(), op.config());
    const Driver& driver = machine().driver();
    const int capability = machine().context()->device().silicon.capability;
    const auto binary =
        Runtime::shared().state().binaries.get(compile_request(op.problem(), op.config(), capability), driver.version);
    const Module module(machine().context(), *binary, steps);
    const Step& step = steps.steps.front();
    void* address = machine().memory();
    std::array<void*, 5> arguments;
    arguments.fill(&address);
    measure(state, [&] {
        driver.launch_kernel(module.function(0), step.grid[0], step.grid[1], step.grid[2], step.threads, 1, 1,
                             static_cast<unsigned>(step.shared_bytes), machine().stream(), arguments.data(), nullptr);
    });
}

void through_cpp(benchmark::State& state, Specialise specialise) {
    const Operator op = Runtime::shared().prepare(tiny(specialise));
    measure(state, [&] { op.launch(tensors(), machine().stream()); });
}

void through_c(benchmark::State& state) {
    msda_problem* problem = nullptr;
    msda_operator* op = nullptr;
    if (msda_problem_parse(canonical(tiny(Specialise::exact)).c_str(), &problem) != MSDA_OK ||
        msda_prepare(nullptr, problem, 0, nullptr, &op) != MSDA_OK)
        return state.SkipWithError(msda_error_message());
    msda_tensors addresses = MSDA_TENSORS_INIT;
    addresses.value = addresses.locations = addresses.weights = addresses.output = machine().memory();
    measure(state, [&] { msda_launch(op, &addresses, machine().stream()); });
    msda_operator_destroy(op);
    msda_problem_destroy(problem);
}

// What a caller pays that prepares before each launch.
void prepare_again(benchmark::State& state) {
    const Problem problem = tiny(Specialise::exact);
    for (auto _ : state) benchmark::DoNotOptimize(Runtime::shared().prepare(problem));
}

}  // namespace

BENCHMARK(bare);
BENCHMARK_CAPTURE(through_cpp, exact, Specialise::exact);
BENCHMARK_CAPTURE(through_cpp, family, Specialise::family);
BENCHMARK(through_c);
BENCHMARK(prepare_again);

int main(int count, char** arguments) {
    if (!Runtime::shared().has_gpu()) {
        std::printf("no GPU here\n");
        return 77;
    }
    benchmark::Initialize(&count, arguments);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
