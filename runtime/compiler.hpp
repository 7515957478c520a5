// CUDA source to machine code: picks the architecture that this NVRTC can emit for a GPU, compiles, and explains
// failures.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/compile_log.hpp"
#include "runtime/kernel_resources.hpp"
#include "runtime/nvrtc_search.hpp"

namespace msda {

// Everything that reaches the compiler. Headers are texts, never files: no include path is used.
struct CompileRequest {
    std::string name = "msda.cu";  // what the log calls the source
    std::string source;
    std::vector<SourceText> headers;   // must outlive the request
    std::vector<std::string> options;  // besides standard and architecture
    int capability = 90;               // of the GPU: 10·major + minor
    std::string suffix;                // "a" or "f" for architecture- or family-specific code
};

// What a compiler emits for a GPU: machine code of the GPU's own architecture, or PTX of an older one for the driver to
// translate.
struct Target {
    enum class Format : std::uint8_t { cubin, ptx } format = Format::cubin;
    int capability = 90;
    std::string suffix;
    // "sm_90", "compute_120".
    std::string architecture() const;
};

// Compiled code, ready for cuModuleLoadDataEx.
struct Binary {
    Target target;
    std::string bytes;
    std::string log;  // warnings and notes of the compiler; empty when read from a cache
};

// What people want to see of a kernel: all forms of the code, the whole log, what it takes of an SM.
struct Inspection {
    std::string ptx;
    std::string cubin;
    std::string log;
    std::vector<KernelResources> kernels;
};

// The target for a GPU. A GPU newer than the compiler: PTX of its newest architecture, which needs a driver at least as
// new as the compiler. Throws Error(unsupported) naming library, versions, architectures and a version that works when
// the compiler has dropped the GPU, or the driver cannot take the PTX. `driver_version` 0: no driver in play.
Target choose_target(const NvrtcLibrary& nvrtc, int capability, const std::string& suffix, int driver_version);

// A digest of everything that decides the code: source, headers, options in any order, target, compiler and library
// version, so that two versions of this library can share a cache.
std::string key_of(const CompileRequest& request, const Target& target, const NvrtcLibrary& nvrtc,
                   std::string_view library_version = version());

// A digest of source and headers alone, stable across machines: names a kernel wherever it is compiled.
std::string source_digest(const CompileRequest& request);

// Compiles. Throws Error(compile_failed) whose log() holds NVRTC's whole log with numbered source lines around each
// error.
Binary compile(const CompileRequest& request, const Target& target, const NvrtcLibrary& nvrtc);

// Compiles to all forms, with the assembler's report. Throws as compile() does.
Inspection inspect(const CompileRequest& request, const NvrtcLibrary& nvrtc);

}  // namespace msda
