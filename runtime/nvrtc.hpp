// NVRTC, NVIDIA's run-time compiler, as a table of function pointers: opened at run time, never linked, filled with
// fakes by tests.
#pragma once

#include <nvrtc.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/library_loader.hpp"

namespace msda {

// X(member, exported symbol). Their types are nvrtc.h's.
#define MSDA_NVRTC_FUNCTIONS(X)                           \
    X(version, nvrtcVersion)                              \
    X(get_error_string, nvrtcGetErrorString)              \
    X(get_num_supported_archs, nvrtcGetNumSupportedArchs) \
    X(get_supported_archs, nvrtcGetSupportedArchs)        \
    X(create_program, nvrtcCreateProgram)                 \
    X(destroy_program, nvrtcDestroyProgram)               \
    X(compile_program, nvrtcCompileProgram)               \
    X(get_ptx_size, nvrtcGetPTXSize)                      \
    X(get_ptx, nvrtcGetPTX)                               \
    X(get_cubin_size, nvrtcGetCUBINSize)                  \
    X(get_cubin, nvrtcGetCUBIN)                           \
    X(get_program_log_size, nvrtcGetProgramLogSize)       \
    X(get_program_log, nvrtcGetProgramLog)

// The compiler's functions.
struct Nvrtc {
#define MSDA_NVRTC_MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
    MSDA_NVRTC_FUNCTIONS(MSDA_NVRTC_MEMBER)
#undef MSDA_NVRTC_MEMBER

    std::shared_ptr<void> library;   // keeps it open
    std::shared_ptr<void> builtins;  // libnvrtc-builtins, which it opens by name while compiling
};

// What a compiler can do, known before it is used.
struct NvrtcInfo {
    int version = 0;                 // 1000·major + 10·minor, as the driver counts
    std::vector<int> architectures;  // 10·major + minor, rising
    bool operator==(const NvrtcInfo&) const = default;
};

// "12.9" of 12090.
std::string version_text(int version);

// Opens the library at `path` (`only_loaded`: only if it is in the process already), fills the table and asks for
// version and architectures. Loads the builtins library that lies beside it first, since the compiler looks for that by
// name alone and finds it only on the linker's path. On failure returns null with the reason in `error`.
std::shared_ptr<const Nvrtc> open_nvrtc(const LibraryLoader& loader, const std::string& path, bool only_loaded,
                                        NvrtcInfo& info, std::string& error);

}  // namespace msda
