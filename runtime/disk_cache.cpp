#include "runtime/disk_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "msda/error.hpp"
#include "runtime/digest.hpp"

namespace msda {
namespace {

constexpr std::string_view suffix = ".msda-bin";
constexpr std::string_view entry_magic = "MSDABIN1";
constexpr std::int64_t entry_limit = std::int64_t{256} << 20;  // the largest kernel is far below 1 MB
constexpr std::int64_t temporary_age = 3600;                   // seconds after which a temporary has no living writer

// magic, key, length of the payload, its digest, the digest of all that; then the payload.
constexpr std::size_t header_bytes = 8 + 32 + 8 + 16 + 16;

std::string text_of(const std::array<std::uint8_t, 16>& digest) { return {digest.begin(), digest.end()}; }

std::string header_of(const std::string& key, std::string_view payload) {
    std::string header(entry_magic);
    header += key;
    for (int shift = 0; shift < 64; shift += 8) header += static_cast<char>(payload.size() >> shift & 0xff);
    header += text_of(digest_of(payload));
    header += text_of(digest_of(header));
    return header;
}

// The whole header follows from key and payload, so one comparison checks every byte of it.
bool intact(const std::string& key, std::string_view file) {
    return file.size() >= header_bytes && file.substr(0, header_bytes) == header_of(key, file.substr(header_bytes));
}

struct Entry {
    std::string path;
    FileStatus status;
    bool temporary = false;
};

std::vector<Entry> entries_in(const FileSystem& files, const std::string& directory) {
    std::vector<std::string> names;
    std::vector<Entry> entries;
    const auto error = directory.empty() ? std::error_code{} : files.list(directory, names);
    if (error && error != std::errc::no_such_file_or_directory)
        throw Error(Code::io_failed, fmt::format("cannot list the cache {}: {}", directory, error.message()));
    for (const std::string& name : names) {
        Entry entry{fmt::format("{}/{}", directory, name), {}, is_temporary_name(name)};
        if (!entry.temporary && !name.ends_with(suffix)) continue;  // not ours
        if (files.status(entry.path, entry.status)) continue;       // gone meanwhile
        if (entry.status.kind == FileStatus::Kind::file) entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace

DiskCache::DiskCache(const FileSystem& files, std::string directory, Warnings& warnings, std::string why_off)
    : files_(files), directory_(std::move(directory)), why_off_(std::move(why_off)), warnings_(warnings) {}

std::string DiskCache::path_of(const std::string& key) const { return fmt::format("{}/{}{}", directory_, key, suffix); }

void DiskCache::give_up(const std::string& what, const std::string& why) {
    warnings_.once("disk cache",
                   fmt::format("cannot {}: {}; compiled kernels are kept in memory only (set MSDA_CACHE_DIR to a "
                               "directory that you alone can write, or MSDA_CACHE=0)",
                               what, why));
}

// Judges the directory once; `make`: creates it when it is not there.
bool DiskCache::usable(bool make) {
    if (directory_.empty()) {
        if (!why_off_.empty()) give_up("keep kernels on disk", why_off_);
        return false;
    }
    const std::lock_guard lock(mutex_);
    if (state_ != State::unknown) return state_ == State::good;
    FileStatus status;
    auto error = files_.target_status(directory_, status);
    if (error == std::errc::no_such_file_or_directory) {
        if (!make) return false;
        error = files_.make_directories(directory_);
        if (!error) error = files_.target_status(directory_, status);
    }
    std::string why = error ? error.message() : why_not_trusted(status);
    if (!error && status.kind != FileStatus::Kind::directory) why = "it is not a directory";
    state_ = why.empty() ? State::good : State::off;
    if (!why.empty()) give_up(fmt::format("use the kernel cache {}", directory_), why);
    return why.empty();
}

std::optional<std::string> DiskCache::load(const std::string& key) {
    if (!usable(false)) return std::nullopt;
    const std::string path = path_of(key);
    std::string file;
    const auto error = files_.read(path, file, Trust::owner, entry_limit);
    if (error == std::errc::no_such_file_or_directory) return std::nullopt;
    if (error) {
        give_up(fmt::format("read {}", path), error.message());
        return std::nullopt;
    }
    if (intact(key, file)) return file.substr(header_bytes);
    files_.remove(path);
    warnings_.once("damaged entry", fmt::format("{} is damaged; its kernel is compiled again", path));
    return std::nullopt;
}

void DiskCache::store(const std::string& key, std::string_view bytes) {
    if (!usable(true)) return;
    std::vector<std::pair<std::string, std::string>> waiting;
    {
        const std::lock_guard lock(mutex_);
        waiting.swap(waiting_);
    }
    for (const auto& [waiting_key, waiting_bytes] : waiting) publish(waiting_key, waiting_bytes);
    publish(key, bytes);
}

void DiskCache::store_along(const std::string& key, std::string_view bytes) {
    if (usable(false)) return publish(key, bytes);
    const std::lock_guard lock(mutex_);
    if (!directory_.empty() && state_ == State::unknown) waiting_.emplace_back(key, bytes);
}

void DiskCache::publish(const std::string& key, std::string_view bytes) {
    const std::string path = path_of(key);
    if (const auto error = files_.write_atomically(path, header_of(key, bytes) + std::string(bytes)))
        give_up(fmt::format("write {}", path), error.message());
}

DiskCache::Usage DiskCache::usage() const {
    Usage usage;
    for (const Entry& entry : entries_in(files_, directory_)) {
        if (entry.temporary) continue;
        ++usage.entries;
        usage.bytes += entry.status.bytes;
    }
    return usage;
}

DiskCache::Usage DiskCache::prune(std::int64_t max_bytes, std::int64_t max_age, std::int64_t now) const {
    std::vector<Entry> entries = entries_in(files_, directory_);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.status.used > b.status.used; });
    Usage removed;
    std::int64_t kept = 0;
    bool full = false;
    for (const Entry& entry : entries) {
        const std::int64_t age = now - entry.status.used;
        full = full || (!entry.temporary && kept + entry.status.bytes > max_bytes);
        const bool stale = entry.temporary ? age > temporary_age : age > max_age || full;
        if (!stale) {
            if (!entry.temporary) kept += entry.status.bytes;
        } else if (!files_.remove(entry.path) && !entry.temporary) {
            ++removed.entries;
            removed.bytes += entry.status.bytes;
        }
    }
    return removed;
}

std::string default_cache_directory() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value != nullptr && value[0] == '/' ? value : "");
    };
    if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/msda-jit";
    if (const auto home = variable("HOME"); !home.empty()) return home + "/.cache/msda-jit";
    return {};
}

}  // namespace msda
