// The emulation headers as text, so that the command can build emitted source with a host compiler on any machine.
#pragma once

#include <span>

#include "generator/embedded_file.hpp"

namespace msda {

// The headers of runtime/emulation/, named as an #include names them ("runtime/emulation/emulation.hpp"), embedded at build time.
std::span<const EmbeddedFile> emulation_files();

}  // namespace msda
