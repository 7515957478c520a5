// Source text of a problem's kernels, and the template files it includes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "msda/config.hpp"
#include "msda/problem.hpp"

namespace msda {

// CUDA source: includes of the templates, one Traits struct, one `extern "C" __global__` wrapper a kernel.
// Byte-identical for the same problem and config under any locale. Compiles with NVRTC (no include path; pass
// template_files() as its headers) and, behind runtime/emulation/emulation.hpp, with a host C++20 compiler.
std::string emit(const Problem& problem, const Config& config);

// A template file, embedded in the library at build time: the name an #include uses, and its text.
struct TemplateFile {
    std::string_view name;
    std::string_view text;
};
std::span<const TemplateFile> template_files();

}  // namespace msda
