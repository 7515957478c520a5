// The GPU of the tests that need one.
#pragma once

#include <doctest/doctest.h>

#include "msda/msda.hpp"

namespace msda::test {

// The shared runtime, or null where there is no GPU: the case that asked has then skipped itself and returns.
inline Runtime* gpu() {
    if (Runtime::shared().has_gpu()) return &Runtime::shared();
    MESSAGE("skipped: no GPU");
    return nullptr;
}

}  // namespace msda::test
