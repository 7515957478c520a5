// Builds emitted source into a shared object with the machine's own C++ compiler: found on PATH, started without a
// shell, working in a private directory that goes away with the result.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace msda::emulation {

// A directory of its own under the system's temporary directory, mode 0700, removed with all its content by the
// destructor.
class PrivateDirectory {
  public:
    // Throws Error(io_failed) naming the path.
    PrivateDirectory();
    ~PrivateDirectory();
    PrivateDirectory(PrivateDirectory&& other) noexcept;
    PrivateDirectory& operator=(PrivateDirectory&&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

// The compiler named, else MSDA_HOST_CXX, else the first of c++, g++ and clang++ on PATH (in a sanitizer build that of
// the library's own kind first, for the runtimes of two kinds do not mix). Throws Error(unsupported) naming the
// variable when there is none.
std::string find_host_compiler(const std::string& named);

// Compiles `source` to a shared object below `directory` and returns its path; with the library's own sanitizers.
// `flags` come last. Throws Error(compile_failed) with the compiler's output as log, Error(io_failed).
std::filesystem::path build_module(const std::string& compiler, std::string_view source,
                                   const std::vector<std::string>& flags, const PrivateDirectory& directory);

}  // namespace msda::emulation
