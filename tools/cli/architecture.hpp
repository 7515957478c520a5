// GPU architectures named on the command line, for compiling without that GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "tools/cli/session.hpp"

namespace msda::cli {

struct Architecture {
    int capability = 90;       // 10·major + minor
    std::string suffix;        // "a" or "f"
    std::string text() const;  // "sm_90a"
};

// Reads "sm_90", "sm_90a" or "90". Throws Error(invalid_argument).
Architecture parse_architecture(const std::string& text);

// The whole GPU that an architecture usually comes in: what a config is chosen for when the GPU itself is not there.
// Limits a block and an SM are those of the CUDA programming guide's table of compute capabilities.
Silicon typical_silicon(int capability);

// The GPU to compile for: that of --arch, or the one that is there, or sm_90.
struct CompileTarget {
    Architecture architecture;
    Silicon silicon;
};
CompileTarget compile_target(Session& session, const std::string& arch);

}  // namespace msda::cli
