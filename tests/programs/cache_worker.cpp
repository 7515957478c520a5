// One of many processes on one kernel cache: cache_worker DIRECTORY KERNELS. Exits 1 when it sees a wrong entry, 2 on a
// warning.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/disk_cache.hpp"

int main(int count, char** arguments) {
    if (count != 3) return 3;
    int result = 0;
    const msda::FileSystem files;
    msda::Warnings warnings([&](const std::string& message) {
        std::fprintf(stderr, "%s\n", message.c_str());
        result = 2;
    });
    msda::DiskCache cache(files, arguments[1], warnings);
    const int kernels = std::atoi(arguments[2]);
    for (int i = 0; i < kernels; ++i) {
        const std::string key(32, static_cast<char>('a' + i));
        const std::string bytes(20000 + 1000 * static_cast<std::size_t>(i), static_cast<char>('A' + i));
        const auto found = cache.load(key);
        if (found.has_value() && *found != bytes) return 1;
        if (!found.has_value()) cache.store(key, bytes);
    }
    return result;
}
