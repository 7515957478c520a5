// The file system seam's atomic write, with failures as errors.
#include "tools/cli/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "msda/error.hpp"
#include "tuning_db/file_system.hpp"

namespace msda::cli {

void write_output(const std::string& path, std::string_view bytes) {
    const FileSystem files;
    const std::string directory = std::filesystem::path(path).parent_path().string();
    std::error_code failure;
    if (!directory.empty()) failure = files.make_directories(directory, 0755);
    if (!failure) failure = files.write_atomically(path, bytes, 0644);
    if (failure) throw Error(Code::io_failed, fmt::format("{}: cannot be written: {}", path, failure.message()));
}

}  // namespace msda::cli
