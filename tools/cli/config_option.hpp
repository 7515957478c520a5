// --config: a config given on the command line, as changes to the default one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "msda/msda.hpp"

namespace msda::cli {

// --config: fields of the default config to change, "tile_width=8 unroll=2" or "tile_width=8,unroll=2".
class ConfigOptions {
  public:
    void add(CLI::App& app);
    bool given() const { return !text_.empty(); }
    // The default config of a problem with the fields given. Throws Error(invalid_argument) on an unknown, repeated or
    // malformed field, or with the reason why the problem cannot run so on that silicon.
    Config config(const Problem& problem, const Silicon& silicon) const;

  private:
    std::string text_;
};

}  // namespace msda::cli
