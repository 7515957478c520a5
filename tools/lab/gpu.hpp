// The learner's kernel on a GPU: compiled by NVRTC, launched and timed beside the project's own operator.
#pragma once

#include <string>

#include "tools/lab/checks.hpp"
#include "tools/lab/device_source.hpp"

namespace msda::lab {

// Compiles for sm_90, which needs no GPU. Throws Error(compile_failed) with NVRTC's log, Skipped where there is no NVRTC.
void expect_nvrtc_compiles(const DeviceSource& source);

// Compiles the attempt's source for a GPU and runs `kernel`, whose parameters are (LabShape, value, locations, weights,
// output), with `blocks` blocks of `threads` threads on the tensors of a forward `problem`. Throws Failed when it does not
// compile or its result is wrong, Skipped where there is no GPU or no NVRTC. Returns a sentence with both times.
std::string time_forward(const Attempt& attempt, const Problem& problem, const std::string& kernel, std::uint32_t blocks,
                         int threads);

}  // namespace msda::lab
