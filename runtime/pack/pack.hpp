// A pack: one file with tuning records and compiled kernels for named problems and GPUs, so that a machine with a
// driver and no NVRTC starts without compiling anything.
//
// Layout, little-endian: "MSDAPACK", u32 format version, u32 zero, u64 bytes of the manifest, 16 bytes digest of the
// manifest, the manifest (JSON), then the parts back to back as the manifest lists them, each with its own digest.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compiler.hpp"
#include "tuning_db/database.hpp"

namespace msda {

// Compiled kernels of one problem and config. `source_digest` and `capability` are what a runtime looks them up by.
struct PackedKernels {
    std::string source_digest;         // source_digest(compile_request(…)), 32 hexadecimal digits
    int capability = 90;               // of the GPU
    std::string problem;               // canonical(Problem)
    std::string config;                // canonical(Config)
    std::vector<std::string> kernels;  // entry names
    Binary binary;
};

// What goes into a pack.
struct PackContent {
    std::string generator;  // msda version
    Database database;
    std::vector<PackedKernels> kernels;
};

// The file's bytes; equal content gives equal bytes. Of two kernels with one digest and capability the first is kept.
std::string write_pack(PackContent content);

// A pack in memory. Its manifest is checked when it is opened, each part when it is taken, so that damage to one kernel
// costs that kernel.
class PackFile {
  public:
    // Throws Error(bad_file), with `name` in the message: no pack, a newer format, damaged manifest, sizes that do not
    // fit.
    PackFile(std::string bytes, std::string name);

    struct Entry {
        PackedKernels kernels;  // without the code
        std::size_t offset = 0;
        std::size_t bytes = 0;
        std::string digest;
    };
    const std::vector<Entry>& entries() const { return entries_; }
    const std::string& generator() const { return generator_; }

    // Throws Error(bad_file) when the part is damaged.
    Database database() const;
    Binary binary(const Entry& entry) const;

    // nullptr when there is none.
    const Entry* find(const std::string& source_digest, int capability) const;

  private:
    std::string_view part(std::size_t offset, std::size_t bytes, const std::string& digest,
                          const std::string& what) const;

    std::string bytes_;
    std::string name_;
    std::string generator_;
    Entry database_;
    std::vector<Entry> entries_;
    std::map<std::pair<std::string, int>, std::size_t> by_key_;
};

}  // namespace msda
