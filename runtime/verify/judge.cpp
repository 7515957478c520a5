#include "runtime/verify/judge.hpp"

namespace msda {

double grad_value_tolerance(const Problem& p) {
    return p.accumulate == Accumulate::native && bytes_of(p.value) == 2 ? native_tolerance
                                                                        : tolerance(Pass::backward, p.value);
}

Verification judge(const Problem& problem, const DeviceTensors& tensors, const ReferenceResult& reference, int threads,
                   Outputs* outputs) {
    Outputs own;
    Outputs& got = outputs != nullptr ? *outputs : own;
    tensors.download(got);
    Verification verification{verify(problem, reference, got.tensors({}), threads), tensors.overrun()};
    for (Verdict& verdict : verification.verdicts)
        if (verdict.tensor == "grad_value") {
            verdict.tolerance = grad_value_tolerance(problem);
            verdict.passed = verdict.difference.within(verdict.tolerance);
        }
    return verification;
}

}  // namespace msda
