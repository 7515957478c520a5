// The packs of a runtime (Options::packs): opened at the first use, asked before the compiler and above the database's
// files.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/pack/pack.hpp"
#include "runtime/warnings.hpp"
#include "tuning_db/file_system.hpp"
#include "tuning_db/layers.hpp"

namespace msda {

// Opens a pack file. A pack holds code: like a cache entry it is used only when this user or root owns it and nobody
// else can write it. Throws Error(io_failed, bad_file).
PackFile open_pack(const FileSystem& files, const std::string& path);

// Thread-safe. What cannot be used costs one warning, never a launch: the compiler is asked instead.
class Packs {
  public:
    // `paths` in the order of preference. `files` and `warnings` must outlive this object.
    Packs(const FileSystem& files, Warnings& warnings, std::vector<std::string> paths);

    // Code by source digest and capability of the GPU (Binaries::Source).
    std::optional<Binary> find(const std::string& source_digest, int capability);

    // The records of each pack, for Layers.
    std::vector<Layer> layers();

  private:
    struct Pack {
        std::string path;
        std::unique_ptr<const PackFile> file;
    };
    const std::vector<Pack>& opened();

    const FileSystem& files_;
    Warnings& warnings_;
    const std::vector<std::string> paths_;
    std::once_flag once_;
    std::vector<Pack> packs_;
};

}  // namespace msda
