// The runtime's own kernels beside the operator's: those that measure ceilings and compare results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/module.hpp"
#include "runtime/runtime_state.hpp"

namespace msda {

// Compiles `source` (or finds it in a cache) for the context's GPU and loads its kernels, which run in blocks of
// `threads` threads; the module's functions are in the order of `kernels`. `name` stands in compile logs. Throws what
// compiling and loading throw.
Module load_own_kernels(Runtime& runtime, const std::shared_ptr<DeviceContext>& context, std::string name,
                        std::string source, const std::vector<std::string>& kernels, unsigned threads);

}  // namespace msda
