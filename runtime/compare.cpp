// Norms in double over fixed chunks, summed in order: the same figures for any number of threads.
#include "runtime/compare.hpp"

#include <cmath>
#include <limits>

#include "runtime/numbers.hpp"
#include "runtime/parallel.hpp"

namespace msda {
namespace {

using std::int64_t;

constexpr int64_t chunk = 1 << 16;

struct Partial {
    double error = 0, reference = 0;  // sums of squares
    double max_error = 0;
    int64_t worst = -1;
    int64_t mismatch = -1;  // first element where non-finite values differ
};

template <class T>
Partial compare_chunk(const double* reference, const T* got, int64_t begin, int64_t end) {
    Partial partial;
    for (int64_t i = begin; i < end; i++) {
        const double r = reference[i], g = static_cast<double>(host::widen(got[i]));
        if (!std::isfinite(r) || !std::isfinite(g)) {
            const auto rounded = static_cast<double>(host::widen(host::narrow<T>(r)));
            const bool same = std::isnan(g) ? std::isnan(rounded) : g == rounded;
            if (!same && partial.mismatch < 0) partial.mismatch = i;
            continue;
        }
        const double error = std::abs(g - r);
        partial.error += error * error;
        partial.reference += r * r;
        if (error > partial.max_error) partial.max_error = error, partial.worst = i;
    }
    return partial;
}

}  // namespace

Difference compare(const std::vector<double>& reference, Type type, const void* got, int threads) {
    const auto count = static_cast<int64_t>(reference.size());
    std::vector<Partial> partials(static_cast<std::size_t>((count + chunk - 1) / chunk));
    host::visit(type, [&](auto zero) {
        const auto* elements = static_cast<const decltype(zero)*>(got);
        parallel_for(thread_count(threads), count, chunk, [&](int64_t begin, int64_t end, int) {
            partials[static_cast<std::size_t>(begin / chunk)] = compare_chunk(reference.data(), elements, begin, end);
        });
    });
    Difference difference;
    double error = 0, norm = 0;
    for (const Partial& partial : partials) {
        if (partial.mismatch >= 0) {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            return {infinity, infinity, partial.mismatch};
        }
        error += partial.error;
        norm += partial.reference;
        if (partial.max_error > difference.max_error)
            difference.max_error = partial.max_error, difference.worst = partial.worst;
    }
    // An all-zero reference is met by zeros alone: any other error makes this infinite, or NaN where its square
    // underflows.
    difference.norm_error = difference.max_error == 0 ? 0 : std::sqrt(error) / std::sqrt(norm);
    return difference;
}

double tolerance(Pass pass, Type type) {
    const bool forward = pass == Pass::forward;
    switch (type) {
        case Type::f16:
            return forward ? 5e-4 : 1e-3;
        case Type::bf16:
            return forward ? 4e-3 : 8e-3;
        case Type::f64:
            return forward ? 1e-13 : 1e-12;
        case Type::f32:
        case Type::e4m3:  // never a result's type
            break;
    }
    return forward ? 1e-6 : 1e-5;
}

std::vector<Verdict> verify(const Problem& problem, const ReferenceResult& reference, const Tensors& got, int threads) {
    std::vector<Verdict> verdicts;
    const auto add = [&](const char* tensor, const std::vector<double>& expected, Type type, const void* values) {
        if (expected.empty()) return;
        Verdict verdict{tensor, compare(expected, type, values, threads), tolerance(problem.pass, type), false};
        verdict.passed = verdict.difference.within(verdict.tolerance);
        verdicts.push_back(verdict);
    };
    add("output", reference.output, problem.output, got.output);
    add("grad_value", reference.grad_value, problem.value, got.grad_value);
    add("grad_locations", reference.grad_locations, problem.location, got.grad_locations);
    add("grad_weights", reference.grad_weights, problem.weight, got.grad_weights);
    add("grad_references", reference.grad_references, problem.location, got.grad_references);
    return verdicts;
}

}  // namespace msda
