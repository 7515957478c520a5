// Files that a command was asked to write.
#pragma once

#include <string>
#include <string_view>

namespace msda::cli {

// Replaces the file in one step, so that a reader sees the old or the whole new content; makes missing directories.
// Throws Error(io_failed) naming the path; then nothing is left behind.
void write_output(const std::string& path, std::string_view bytes);

}  // namespace msda::cli
