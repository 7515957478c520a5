// Where configs come from: layers of databases, searched from the memory of this process to what ships in the library.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "msda/config.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/file_system.hpp"

namespace msda {

// The config for a problem, how it was found and where.
struct Choice {
    Config config;
    std::string how;      // "exact", "nearest" (another size), "family" (other silicon of the capability), "heuristic"
    double distance = 0;  // as tuning_db/family.hpp measures, plus |Δ log2 SM count| for "family"
    std::string source;   // the layer: "memory", a file's path, "built-in"; empty for "heuristic"
};

// One layer as it was loaded, for reports.
struct Layer {
    std::string source;
    Database database;
};

// Which layers there are.
struct LayersOptions {
    std::string file;                              // MSDA_DB: this file alone, frozen; empty: the layers below
    std::string user_file;                         // MSDA_DB_USER, else $XDG_DATA_HOME/msda/tuning.json; empty: none
    std::vector<std::string> site_directories;     // MSDA_DB_SITE, separated by ':'; the first wins
    bool builtin = true;                           // what ships inside the library
    std::function<std::vector<Layer>()> packs;     // the records that packs bring, below memory and above all files
    std::function<void(const std::string&)> warn;  // each message once; unset: none

    static LayersOptions from_environment();
};

// The parts of a list of paths between colons, without empty ones.
std::vector<std::string> split_paths(std::string_view text);

// The effective view over all layers: a record of a higher layer hides the same problem and silicon in lower ones.
// Files are read at the first use, never before. Thread-safe.
class Layers {
  public:
    explicit Layers(LayersOptions options = LayersOptions::from_environment(), FileSystem files = FileSystem());
    ~Layers();
    Layers(Layers&&) noexcept;
    Layers& operator=(Layers&&) noexcept;

    // The config for a normalised problem: exact record, else the nearest size of the same family (distance ≤ 1.5), else
    // the same for other silicon of the same capability, else default_config. A record that does not fit this version
    // or problem is passed over with one warning. Deterministic gradients always get default_config. Pure in the view:
    // equal hash(), problem and silicon give the equal answer on every node. Throws Error(io_failed, bad_file) where
    // MSDA_DB's file cannot be used.
    Choice choose(const Problem& problem, const Silicon& silicon) const;

    // Adds a record to the memory layer, above all files, for the life of this object. Ignored while MSDA_DB freezes
    // the view.
    void remember(Record record);

    // What choose() sees: every record that no higher layer hides.
    Database effective() const;

    // Hash of the effective view; equal on all nodes that see the same records, wherever their files lie.
    std::string hash() const;

    // The layers, highest first.
    std::vector<Layer> layers() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace msda
