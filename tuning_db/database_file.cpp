// Loading and saving of database files over the FileSystem seam.
#include "tuning_db/database_file.hpp"

#include <fmt/format.h>

#include <ctime>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::int64_t temporary_age = 3600;  // seconds after which a temporary has no living writer
constexpr mode_t readable_by_all = 0644;      // a site layer is read by every user of a cluster

[[noreturn]] void fail(const std::string& what, const std::string& path, const std::error_code& error) {
    throw Error(Code::io_failed, fmt::format("cannot {} {}: {}", what, path, error.message()));
}

std::string read_text(const FileSystem& files, const std::string& path) {
    std::string text;
    if (const auto error = files.read(path, text, Trust::anybody, largest_database)) fail("read", path, error);
    return text;
}

// What killed writers of this file left beside it. By age, since where locks hold within one node only, a writer of
// another node may be at work.
void remove_stale_temporaries(const FileSystem& files, const std::string& path) {
    const std::string directory = directory_of(path);
    const std::string prefix = path.substr(path.rfind('/') + 1) + ".";
    std::vector<std::string> names;
    if (files.list(directory, names)) return;
    for (const std::string& name : names) {
        FileStatus status;
        const std::string temporary = fmt::format("{}/{}", directory, name);
        if (name.starts_with(prefix) && is_temporary_name(name) && !files.status(temporary, status) &&
            std::time(nullptr) - status.modified > temporary_age)
            files.remove(temporary);
    }
}

}  // namespace

ParsedDatabase load_database(const FileSystem& files, const std::string& path) {
    return parse_database(read_text(files, path), path);
}

IndexedDatabase load_index(const FileSystem& files, const std::string& path) {
    return index_database(read_text(files, path), path);
}

Database save_database(const FileSystem& files, const std::string& path, const Database& database) {
    const std::string directory = directory_of(path);
    if (const auto error = files.make_directories(directory, 0755)) fail("make the directory of", path, error);
    FileLock lock;
    // Some network file systems have no locks; writing goes on there, and only writers within the same instant can miss
    // each other's records.
    (void)files.lock_directory(directory, lock);
    remove_stale_temporaries(files, path);

    std::string old_text;
    Database merged = database;
    const auto error = files.read(path, old_text, Trust::anybody, largest_database);
    if (error && error != std::errc::no_such_file_or_directory) fail("read", path, error);
    if (!error) {
        const ParsedDatabase old = parse_database(old_text, path);
        merged.merge(old.database);
        if (!old.complaints.empty())
            if (const auto kept = files.write_atomically(path + ".damaged", old_text, readable_by_all))
                fail("keep the damaged lines in", path + ".damaged", kept);
    }
    const std::string text = to_text(merged);
    if (text != old_text)
        if (const auto failed = files.write_atomically(path, text, readable_by_all)) fail("write", path, failed);
    return merged;
}

}  // namespace msda
