// The tuning databases that ship inside the library, one a GPU.
#pragma once

#include <span>

#include "generator/embedded_file.hpp"

namespace msda {

// The files of tuning_db/builtin/, by name ("h200.json"), embedded at build time; never throws.
std::span<const EmbeddedFile> builtin_databases();

}  // namespace msda
