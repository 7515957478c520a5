// What stands behind the opaque handles of msda.h.
#pragma once

#include <memory>
#include <string>

#include "msda/msda.h"
#include "msda/msda.hpp"

struct msda_runtime {
    std::unique_ptr<msda::Runtime> runtime;
};

struct msda_problem {
    msda::Problem problem;  // normalised
    std::string text;
};

struct msda_operator {
    msda::Operator prepared;
    std::string problem;
    std::string config;
};

namespace msda::c {

// Null is the shared runtime.
inline Runtime& runtime_of(msda_runtime* handle) { return handle != nullptr ? *handle->runtime : Runtime::shared(); }

}  // namespace msda::c
