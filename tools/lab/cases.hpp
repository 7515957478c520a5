// Problems in single precision for the labs' checks: the project's own table of odd shapes, with inputs that try to break
// an operator, its results and how they compare with the double-precision reference.
#pragma once

#include <string>
#include <vector>

#include "labs/common/lab_shape.hpp"
#include "runtime/emulation/multiprocessor.hpp"
#include "runtime/reference/reference.hpp"
#include "tools/cases/problems.hpp"

namespace msda::lab {

// A problem with its tensors on the host; outputs hold NaN.
struct Case {
    std::string name;
    Problem problem;
    LabShape shape{};
    cases::SceneTensors tensors;

    Case(std::string case_name, const Problem& p, cases::Scene scene);

    const float* value() const { return static_cast<const float*>(tensors.tensors().value); }
    const float* locations() const { return static_cast<const float*>(tensors.tensors().locations); }
    const float* weights() const { return static_cast<const float*>(tensors.tensors().weights); }
    const float* grad_output() const { return static_cast<const float*>(tensors.tensors().grad_output); }
    float* output() const { return static_cast<float*>(tensors.tensors().output); }
    float* grad_value() const { return static_cast<float*>(tensors.tensors().grad_value); }
    float* grad_locations() const { return static_cast<float*>(tensors.tensors().grad_locations); }
    float* grad_weights() const { return static_cast<float*>(tensors.tensors().grad_weights); }

    // Exactly the memory of the tensors, for a launch: inputs read-only.
    std::vector<emulation::Extent> memory() const;
};

// The f32 bilinear problems of tools/cases with dense value, under each of these scenes; `hard` adds NaN, far-out and
// border locations and pixels that must not be read. At most 8 levels each.
std::vector<Case> cases_of(Pass pass, bool hard);

// One case of a shape of one's own.
Case case_of(const std::string& name, const Problem& problem, cases::Scene scene);

// Throws Failed naming the case, the tensor, the element (as b, q, head, ...) and both numbers where a result of the
// case differs from the reference. The tensors of `only` (e.g. "grad_weights") are compared, all when it is empty.
void expect_reference(const Case& c, const std::vector<std::string>& only = {});

LabShape shape_of(const Problem& problem);

}  // namespace msda::lab
