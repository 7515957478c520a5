// The rows of shapes_table.cpp.
#pragma once

#include <vector>

#include "runtime/shapes.hpp"

namespace msda {

// Built at the first call, thread-safe.
const std::vector<ModelShape>& shapes_table();

}  // namespace msda
