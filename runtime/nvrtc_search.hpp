// Which of the NVRTC libraries on a machine to use: a documented order, and a record of each path tried.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/nvrtc.hpp"
#include "tuning_db/file_system.hpp"

namespace msda {

// The compiler that was chosen: what it can do is known at once, and its 100 MB are mapped (10 ms) only when something
// must be compiled.
class NvrtcLibrary {
  public:
    // `nvrtc` null: opened on first use.
    NvrtcLibrary(LibraryLoader loader, std::string path, NvrtcInfo info, std::shared_ptr<const Nvrtc> nvrtc = nullptr);

    const std::string& path() const noexcept { return path_; }
    const NvrtcInfo& info() const noexcept { return info_; }

    // Opens it when it is not yet. Thread-safe. Throws Error(no_compiler) when it cannot be opened or is not what it
    // was.
    const Nvrtc& functions() const;

  private:
    LibraryLoader loader_;
    std::string path_;
    NvrtcInfo info_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Nvrtc> nvrtc_;
};

// Knowledge of libraries seen by earlier processes, so that a warm start need not open one. Either may be unset.
struct NvrtcMemory {
    std::function<std::optional<NvrtcInfo>(const std::string& identity)> recall;
    std::function<void(const std::string& identity, const NvrtcInfo&)> remember;
};

struct NvrtcRequest {
    std::string path;        // an explicit library (MSDA_NVRTC): then no other is tried
    int driver_version = 0;  // 1000·major + 10·minor; 0: no driver, any version will do
};

// Empty when a compiler of that version will do with that driver (0: any), else one sentence.
std::string why_not_usable(const NvrtcInfo& info, int driver_version);

// Tries, in this order: the explicit library; one that this process has loaded already (torch's, say: two of them in
// one process clash); the toolkit (CUDA_PATH, CUDA_HOME, /usr/local/cuda, /usr/local/cuda-*, /opt/cuda); the dynamic
// linker's own; pip's nvidia packages (VIRTUAL_ENV, PYTHONPATH, ~/.local, /usr/local, /usr); conda (CONDA_PREFIX).
// Takes the first of CUDA 12.0 or newer that is of no newer major version than the driver (cubins of one major version
// run on each of its drivers: "minor version compatibility", CUDA Compatibility guide). Every path goes to `attempts`.
// Throws Error(no_compiler) that lists them.
std::shared_ptr<const NvrtcLibrary> find_nvrtc(const NvrtcRequest& request, const LibraryLoader& loader,
                                               const FileSystem& files, const NvrtcMemory& memory, Attempts& attempts);

}  // namespace msda
