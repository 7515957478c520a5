// nvdisasm reads a cubin by itself; cuobjdump needs it beside it or on PATH.
#include "tools/cli/disassembler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "msda/error.hpp"
#include "runtime/emulation/host_compiler.hpp"
#include "runtime/environment.hpp"
#include "tools/cli/process.hpp"

namespace msda::cli {
namespace {

namespace fs = std::filesystem;

fs::path find_tool() {
    if (const std::string named = environment_variable("MSDA_CUOBJDUMP"); !named.empty()) {
        if (access(named.c_str(), X_OK) != 0)
            throw Error(Code::unsupported, fmt::format("MSDA_CUOBJDUMP: {} is no program that can be run", named));
        return named;
    }
    std::istringstream path(environment_variable("PATH") + ":/usr/local/cuda/bin");
    std::vector<std::string> folders;
    for (std::string folder; std::getline(path, folder, ':');)
        if (!folder.empty()) folders.push_back(folder);
    for (const char* name : {"nvdisasm", "cuobjdump"})
        for (const std::string& folder : folders)
            if (const fs::path tool = fs::path(folder) / name; access(tool.c_str(), X_OK) == 0) return tool;
    throw Error(Code::unsupported,
                "SASS needs nvdisasm or cuobjdump, and neither is on PATH or in /usr/local/cuda/bin: install the CUDA "
                "toolkit or the Python package nvidia-cuda-nvdisasm, or set MSDA_CUOBJDUMP to the program");
}

}  // namespace

std::string disassemble(const std::string& cubin) {
    const fs::path tool = find_tool();
    const emulation::PrivateDirectory directory;
    const fs::path file = directory.path() / "kernel.cubin";
    std::ofstream(file, std::ios::binary) << cubin;
    const bool dumps = tool.filename().string().find("cuobjdump") != std::string::npos;
    const std::vector<std::string> arguments = {tool.string(), dumps ? "-sass" : "-c", file.string()};
    const std::string beside = tool.has_parent_path() ? tool.parent_path().string() + ":" : "";
    const ProcessResult result = run_process(arguments, {{"PATH", beside + environment_variable("PATH")}});
    if (result.status != 0)
        throw Error(Code::compile_failed, fmt::format("{} failed with exit status {}", tool.string(), result.status),
                    result.out + result.err);
    return result.out;
}

}  // namespace msda::cli
