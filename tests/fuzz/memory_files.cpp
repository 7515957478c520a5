// The calls that reading, publishing and removing files need; the others fail.
#include "tests/fuzz/memory_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace msda::fuzz {
namespace {

int fail(int error) {
    errno = error;
    return -1;
}

}  // namespace

int MemoryFiles::open(const std::string& path, int flags) {
    const bool exists = files.contains(path);
    if (path == directory_) {
        open_[next_] = {};
    } else if ((flags & O_CREAT) != 0) {
        if (exists) return fail(EEXIST);
        files[path];
        open_[next_] = {path};
    } else if (exists) {
        open_[next_] = {path};
    } else {
        return fail(ENOENT);
    }
    return next_++;
}

int MemoryFiles::fstat(int descriptor, struct stat* status) const {
    const std::string& path = open_.at(descriptor).path;
    *status = {};
    status->st_mode = path.empty() ? S_IFDIR | 0700 : S_IFREG | 0600;
    status->st_size = path.empty() ? 0 : static_cast<off_t>(files.at(path).size());
    status->st_uid = ::geteuid();
    return 0;
}

SystemCalls MemoryFiles::calls() {
    SystemCalls calls;
    calls.open = [this](const char* path, int flags, mode_t) { return open(path, flags); };
    calls.read = [this](int descriptor, void* bytes, std::size_t count) -> ssize_t {
        Open& file = open_.at(descriptor);
        const std::string& content = files.at(file.path);
        const std::size_t got = std::min(count, content.size() - file.at);
        std::memcpy(bytes, content.data() + file.at, got);
        file.at += got;
        return static_cast<ssize_t>(got);
    };
    calls.write = [this](int descriptor, const void* bytes, std::size_t count) -> ssize_t {
        files.at(open_.at(descriptor).path).append(static_cast<const char*>(bytes), count);
        return static_cast<ssize_t>(count);
    };
    calls.fsync = [](int) { return 0; };
    calls.close = [this](int descriptor) { return open_.erase(descriptor) == 1 ? 0 : fail(EBADF); };
    calls.fstat = [this](int descriptor, struct stat* status) { return fstat(descriptor, status); };
    calls.lstat = [](const char*, struct stat*) { return fail(ENOSYS); };
    calls.rename = [this](const char* from, const char* to) {
        files[to] = std::move(files.at(from));
        return files.erase(from) == 1 ? 0 : -1;
    };
    calls.unlink = [this](const char* path) { return files.erase(path) == 1 ? 0 : fail(ENOENT); };
    calls.mkdir = [](const char*, mode_t) { return fail(EEXIST); };
    calls.list = [](const char*, std::vector<std::string>*) { return fail(ENOSYS); };
    calls.flock = [](int, int) { return 0; };
    return calls;
}

}  // namespace msda::fuzz
