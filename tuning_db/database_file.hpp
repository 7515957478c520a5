// Databases on disk: loading says what is wrong, saving never loses what others wrote meanwhile.
#pragma once

#include <string>

#include "tuning_db/database.hpp"
#include "tuning_db/file_system.hpp"
#include "tuning_db/stored_record.hpp"

namespace msda {

// Largest database file that is read; a record is about 1.5 KiB.
inline constexpr std::int64_t largest_database = std::int64_t{256} << 20;

// Reads a database. Throws Error(io_failed) when the file cannot be read, Error(bad_file) as parse_database does.
ParsedDatabase load_database(const FileSystem& files, const std::string& path);

// The same for lookups, in a fraction of the time (index_database).
IndexedDatabase load_index(const FileSystem& files, const std::string& path);

// Merges `database` into the file and returns what the file now holds: under the directory's advisory lock it is read
// again, merged and replaced in one step, so writers at the same time all keep their records. Makes missing
// directories. Lines that could not be read are kept beside it in PATH.damaged. Throws Error(bad_file) and leaves the
// file alone when its header is damaged or newer, Error(io_failed) when it cannot be written (read-only, full disk):
// the old file stays.
Database save_database(const FileSystem& files, const std::string& path, const Database& database);

}  // namespace msda
