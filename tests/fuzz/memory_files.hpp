// System calls on files in memory, in one directory that always exists: a fuzz target tries thousands of files a
// second.
#pragma once

#include <map>
#include <string>

#include "tuning_db/file_system.hpp"

namespace msda::fuzz {

// Copies of calls() share this object, which must outlive them. Not thread-safe.
class MemoryFiles {
  public:
    explicit MemoryFiles(std::string directory) : directory_(std::move(directory)) {}

    std::map<std::string, std::string> files;  // content by path
    SystemCalls calls();
    std::size_t open_descriptors() const { return open_.size(); }

  private:
    struct Open {
        std::string path;  // empty: the directory
        std::size_t at = 0;
    };
    int open(const std::string& path, int flags);
    int fstat(int descriptor, struct stat* status) const;

    std::string directory_;
    std::map<int, Open> open_;
    int next_ = 1000;
};

}  // namespace msda::fuzz
