// Compiled code on disk, one file an entry, shared by processes, versions and nodes without lock files.
// A failure here is never a failure of a launch: the cache reports nothing found, and one warning says why. What is
// damaged is deleted and made anew; what merely could not be read is left alone. An entry holds code, so only files and
// directories that this user or root owns and nobody else can write are used: the checksum detects damage, ownership is
// trust.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/warnings.hpp"
#include "tuning_db/file_system.hpp"

namespace msda {

class DiskCache {
  public:
    // `directory` is made at the first store; empty turns the cache off, with one warning of `why_off` at the first use
    // unless that is empty. `files` and `warnings` must outlive this object.
    DiskCache(const FileSystem& files, std::string directory, Warnings& warnings, std::string why_off = {});

    const std::string& directory() const noexcept { return directory_; }

    // The bytes stored under a key (32 hexadecimal digits), or nothing. Thread-safe, never throws but for memory.
    std::optional<std::string> load(const std::string& key);

    // Publishes bytes under a key; whoever is second overwrites with what must be equal. Thread-safe, never throws but
    // for memory.
    void store(const std::string& key, std::string_view bytes);

    // As store(), but makes no directory: without one the bytes wait in memory for the first store(). For what is learnt
    // on the way to a kernel, so that a compile that is refused writes nothing.
    void store_along(const std::string& key, std::string_view bytes);

    struct Usage {
        std::int64_t entries = 0;
        std::int64_t bytes = 0;
    };
    // Throws Error(io_failed) when the directory cannot be listed; one that is not there is empty.
    Usage usage() const;

    // Removes entries last used before `now − max_age` seconds, then the least recently used until at most `max_bytes`
    // remain, and temporaries of killed processes. Returns what was removed. Throws as usage() does.
    Usage prune(std::int64_t max_bytes, std::int64_t max_age, std::int64_t now) const;

  private:
    std::string path_of(const std::string& key) const;
    bool usable(bool make);
    void publish(const std::string& key, std::string_view bytes);
    void give_up(const std::string& what, const std::string& why);

    const FileSystem& files_;
    std::string directory_;
    std::string why_off_;
    Warnings& warnings_;
    std::mutex mutex_;
    std::vector<std::pair<std::string, std::string>> waiting_;  // key and bytes
    enum class State : std::uint8_t { unknown, good, off } state_ = State::unknown;
};

// Where a user's cache lies: XDG_CACHE_HOME/msda-jit or HOME/.cache/msda-jit, empty when neither is set.
std::string default_cache_directory();

}  // namespace msda
