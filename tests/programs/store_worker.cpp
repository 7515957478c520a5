// One of many processes on one kernel cache and one tuning database, any of which may be killed at any moment:
// store_worker DIRECTORY NUMBER KERNELS. What is said to be saved in DIRECTORY/saved must never be lost again. Exits 1
// when it sees a wrong entry, 2 on a warning, 4 on an error.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "msda/error.hpp"
#include "runtime/disk_cache.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database_file.hpp"

namespace {

// One line in one write, which the system appends whole.
bool acknowledge(const std::string& path, int number) {
    const std::string line = fmt::format("{}\n", number);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const bool good = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    return ::close(file) == 0 && good;
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 4) return 3;
    const std::string directory = arguments[1];
    const int number = std::atoi(arguments[2]);
    const int kernels = std::atoi(arguments[3]);
    int result = 0;
    const msda::FileSystem files;
    msda::Warnings warnings([&](const std::string& message) {
        std::fprintf(stderr, "%s\n", message.c_str());
        result = 2;
    });
    msda::DiskCache cache(files, directory + "/cache", warnings);
    for (int i = 0; i < kernels; ++i) {
        const std::string key(32, static_cast<char>('a' + i));
        const std::string bytes(20000 + 1000 * static_cast<std::size_t>(i), static_cast<char>('A' + i));
        const auto found = cache.load(key);
        if (found.has_value() && *found != bytes) return 1;
        if (!found.has_value()) cache.store(key, bytes);
    }
    msda::Database database;
    database.add(msda::test::record_of(msda::test::decoder(number), msda::test::h200()));
    save_database(files, directory + "/db.json", database);
    return acknowledge(directory + "/saved", number) ? result : 4;
} catch (const msda::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
}
