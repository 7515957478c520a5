// One launch, judged.
#include "runtime/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/verify/judge.hpp"

namespace msda {
namespace {

double largest(const std::vector<Verdict>& verdicts, double Difference::*error) {
    double result = 0;
    for (const Verdict& verdict : verdicts) result = std::max(result, verdict.difference.*error);
    return result;
}

}  // namespace

bool Verification::passed() const {
    return overrun.empty() && std::ranges::all_of(verdicts, [](const Verdict& verdict) { return verdict.passed; });
}

double Verification::max_error() const { return largest(verdicts, &Difference::max_error); }
double Verification::norm_error() const { return largest(verdicts, &Difference::norm_error); }

std::string Verification::complaint() const {
    std::string text;
    for (const Verdict& v : verdicts)
        if (!v.passed)
            text += fmt::format("{}{}: norm error {:.3g}, expected at most {:.3g} (worst at element {})",
                                text.empty() ? "" : "; ", v.tensor, v.difference.norm_error, v.tolerance,
                                v.difference.worst);
    if (!overrun.empty()) text += fmt::format("{}something was written beside {}", text.empty() ? "" : "; ", overrun);
    return text;
}

Verification verify(const Operator& op, DeviceTensors& tensors, const ReferenceResult& reference, int threads,
                    Outputs* outputs) {
    tensors.poison();
    op.launch(tensors.addresses());
    tensors.place().wait();
    return judge(op.problem(), tensors, reference, threads, outputs);
}

}  // namespace msda
