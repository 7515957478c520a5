// Splits a launch into tasks that own what they write: pairs of (image, query) for rows, (image, head) and groups of
// levels for grad_value.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/cpu.hpp"
#include "runtime/cpu/kernels.hpp"
#include "runtime/parallel.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace msda {
namespace cpu {

#if defined(__x86_64__)
// clang 14's __builtin_cpu_supports does not know the name.
static bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Kernels kernels(Type value) {
#if defined(__x86_64__)
    static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    if (fast) return avx2_kernels(value);
#endif
    return baseline_kernels(value);
}

}  // namespace cpu

namespace {

using std::int64_t;

// A thread costs about 20 µs to start and a core does about 2^31 multiply-adds a second: below 2^15 channels of points
// (four corners each) a second thread does not pay.
int useful_threads(const Problem& problem, int wanted) {
    const double rows = static_cast<double>(problem.batch * problem.queries) * static_cast<double>(problem.heads);
    const double work = rows * static_cast<double>(problem.total_points() * problem.head_dim) / 0x1p15;
    return static_cast<int>(std::clamp<double>(work, 1, thread_count(wanted)));
}

// (image, query) pairs in chunks: 16 a thread balance the load, 64 pairs at most keep an encoder's neighbours in one
// core's cache.
template <class Body>
void for_queries(const Problem& problem, int threads, const Body& body) {
    const int64_t pairs = problem.batch * problem.queries;
    const int64_t grain = std::clamp<int64_t>(pairs / (16 * int64_t{threads}), 1, 64);
    parallel_for(threads, pairs, grain, [&](int64_t begin, int64_t end, int) { body(begin, end); });
}

void zero(void* memory, int64_t bytes, int threads) {
    parallel_for(threads, bytes, int64_t{1} << 22, [&](int64_t begin, int64_t end, int) {
        std::memset(static_cast<char*>(memory) + begin, 0, static_cast<std::size_t>(end - begin));
    });
}

bool disjoint(std::vector<host::Place> levels) {
    std::ranges::sort(levels, {}, &host::Place::start);
    for (std::size_t l = 1; l < levels.size(); l++)
        if (levels[l].start < levels[l - 1].start + levels[l - 1].height * levels[l - 1].width) return false;
    return true;
}

// One task an (image, head), or one for each of its levels where that gives every thread work. A pixel's sum is made by
// one task, queries in order, either way: the result does not depend on the number of threads.
void value_gradient(const cpu::Job& job, const cpu::Kernels& kernels, int threads) {
    const Problem& problem = job.problem;
    const int64_t rows = problem.batch * problem.heads;
    const bool split = rows < 4 * int64_t{threads} && disjoint(job.levels);
    const int64_t slices = split ? static_cast<int64_t>(job.levels.size()) : 1;
    parallel_for(threads, rows * slices, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t task = begin; task < end; task++) {
            const int64_t row = task / slices;
            const auto level = static_cast<std::size_t>(task % slices);
            kernels.value_gradient(job, {.image = row / problem.heads,
                                         .head = row % problem.heads,
                                         .first = split ? level : 0,
                                         .last = split ? level + 1 : job.levels.size()});
        }
    });
}

}  // namespace

void cpu_launch(const Problem& problem, const Tensors& tensors, int threads) {
    const int team = useful_threads(problem, threads);
    const cpu::Job job{problem, tensors, host::places(problem), problem.total_points(), problem.strides()};
    const cpu::Kernels kernels = cpu::kernels(problem.value);
    if (problem.pass == Pass::forward) {
        for_queries(problem, team, [&](int64_t begin, int64_t end) { kernels.forward(job, begin, end); });
        return;
    }
    if (problem.gradients.location || problem.gradients.weight)
        for_queries(problem, team, [&](int64_t begin, int64_t end) { kernels.point_gradients(job, begin, end); });
    if (!problem.gradients.value) return;
    const int64_t elements = problem.batch * problem.pixels * problem.heads * problem.head_dim;
    zero(tensors.grad_value, elements * static_cast<int64_t>(bytes_of(problem.value)), team);
    if (!problem.empty()) value_gradient(job, kernels, team);
}

}  // namespace msda
