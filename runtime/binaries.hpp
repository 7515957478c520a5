// From source to code for a GPU by the shortest way: packs, the memory of this process, the disk cache, the compiler.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/once_map.hpp"

namespace msda {

// Thread-safe. Threads that ask for the same code at once share one compilation; no lock is held meanwhile.
class Binaries {
  public:
    // Code that was compiled elsewhere, by source digest and capability of the GPU; nothing when there is none.
    using Source = std::function<std::optional<Binary>(const std::string& source_digest, int capability)>;
    using FindNvrtc = std::function<std::shared_ptr<const NvrtcLibrary>(int driver_version)>;

    Binaries(DiskCache& cache, Warnings& warnings, FindNvrtc find_nvrtc);

    // Consulted before anything else, newest first: needs no NVRTC.
    void add_source(Source source);

    // Throws Error: no_compiler, unsupported, compile_failed. `driver_version` 0: for no driver in particular.
    std::shared_ptr<const Binary> get(const CompileRequest& request, int driver_version);

  private:
    std::optional<Binary> from_sources(const CompileRequest& request);
    Binary from_disk_or_compiler(const std::string& key, const CompileRequest& request, const Target& target,
                                 const NvrtcLibrary& nvrtc);

    DiskCache& cache_;
    Warnings& warnings_;
    FindNvrtc find_nvrtc_;
    std::mutex mutex_;
    std::vector<Source> sources_;
    OnceMap<std::string, const Binary> recent_{32};
};

}  // namespace msda
