// The JSON manifest of a pack.
#pragma once

#include "runtime/pack/pack.hpp"

namespace msda {

// What a manifest says.
struct PackManifest {
    std::string generator;
    PackFile::Entry database;
    std::vector<PackFile::Entry> kernels;
};

std::string to_json(const PackManifest& manifest);

// Throws Error(bad_file) without a file name: a key missing or of the wrong kind.
PackManifest parse_manifest(std::string_view text);

}  // namespace msda
