// Machine code as text, by NVIDIA's own tools where they are installed.
#pragma once

#include <string>

namespace msda::cli {

// SASS of a cubin by the tool that MSDA_CUOBJDUMP names, else nvdisasm or cuobjdump on PATH or in /usr/local/cuda/bin.
// Throws Error(unsupported) naming the ways to bring one when there is none, Error(compile_failed) with the tool's
// output when it fails.
std::string disassemble(const std::string& cubin);

}  // namespace msda::cli
