// The kernels that a problem and a config need: entry names, template functions, arguments and launch sizes, the one
// source from which emission and planning both read, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan.hpp"
#include "msda/config.hpp"
#include "msda/problem.hpp"

namespace msda {

// Types of tensors in a wrapper's signature.
constexpr std::string_view input_type = "const void*", result_type = "void*";

struct KernelArgument {
    std::string_view type;  // in the wrapper's signature
    Slot slot;              // what the launch passes
};

struct Kernel {
    std::string name;           // entry point
    std::string_view function;  // template in namespace msda, called with Traits, the shape and the arguments
    std::string_view file;      // template file that holds it
    std::vector<KernelArgument> arguments;
    std::int64_t blocks = 0;
    std::int64_t threads = 0;
    std::int64_t shared_bytes = 0;
    int min_blocks = 0;  // an SM should hold, of __launch_bounds__; 0: the compiler decides
};

// In launch order.
std::vector<Kernel> kernels(const Problem& problem, const Config& config);

// The kernels of the double-precision oracle.
std::vector<Kernel> oracle_kernels(const Problem& problem);

// The lines of Traits that only a backward needs; empty for a forward.
std::string backward_traits(const Problem& problem, const Config& config);

// Zero-fills that must come before the kernels, and the workspace they share.
struct Scratch {
    std::vector<Step> zeros;
    std::size_t workspace_bytes = 0;
};
Scratch scratch(const Problem& problem, const Config& config);

}  // namespace msda
