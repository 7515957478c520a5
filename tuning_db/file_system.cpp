#include "tuning_db/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <utility>

namespace msda {
namespace {

constexpr std::string_view temporary_suffix = ".msda-tmp";

std::error_code last_error() { return {errno, std::generic_category()}; }

// Runs a call again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

int list_directory(const char* path, std::vector<std::string>* names) {
    DIR* directory = ::opendir(path);
    if (directory == nullptr) return -1;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) names->emplace_back(entry->d_name);
    const int error = errno;
    ::closedir(directory);
    errno = error;
    return error == 0 ? 0 : -1;
}

FileStatus from_stat(const struct stat& status) {
    FileStatus result;
    if (S_ISREG(status.st_mode)) result.kind = FileStatus::Kind::file;
    if (S_ISDIR(status.st_mode)) result.kind = FileStatus::Kind::directory;
    result.bytes = status.st_size;
    result.modified = status.st_mtime;
    result.used = std::max(status.st_atime, status.st_mtime);
    result.owner = status.st_uid;
    result.mode = status.st_mode & 07777;
    return result;
}

// Different for each call of each process on each node: on a shared file system a process id is not enough.
std::string unique_text() {
    static std::atomic<std::uint64_t> counter{0};
    std::random_device random;
    const std::uint64_t node = (std::uint64_t{random()} << 32) ^ random();
    return fmt::format("{:016x}-{}-{}", node, ::getpid(), counter.fetch_add(1));
}

}  // namespace

SystemCalls SystemCalls::real() {
    SystemCalls calls;
    calls.open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); };
    calls.read = ::read;
    calls.write = ::write;
    calls.fsync = ::fsync;
    calls.close = ::close;
    calls.fstat = [](int descriptor, struct stat* status) { return ::fstat(descriptor, status); };
    calls.lstat = [](const char* path, struct stat* status) { return ::lstat(path, status); };
    calls.rename = ::rename;
    calls.unlink = ::unlink;
    calls.mkdir = ::mkdir;
    calls.list = list_directory;
    calls.flock = ::flock;
    return calls;
}

std::string why_not_trusted(const FileStatus& status) {
    const std::uint32_t user = ::geteuid();
    if (status.owner != user && status.owner != 0)
        return fmt::format("it belongs to user {}, not to user {} or root", status.owner, user);
    if ((status.mode & 022) != 0) return fmt::format("others may write it (mode {:04o}); chmod go-w it", status.mode);
    return {};
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), close_(std::move(other.close_)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(close_, other.close_);
    return *this;
}

FileLock::~FileLock() {
    if (descriptor_ >= 0) close_(descriptor_);
}

std::error_code FileSystem::open(const std::string& path, int flags, mode_t mode, int& descriptor) const {
    descriptor = uninterrupted([&] { return calls_.open(path.c_str(), flags | O_CLOEXEC, mode); });
    return descriptor < 0 ? last_error() : std::error_code{};
}

// Linux closes the descriptor also when close reports EINTR, so it is never called twice.
std::error_code FileSystem::close(int descriptor) const {
    if (calls_.close(descriptor) == 0 || errno == EINTR) return {};
    return last_error();
}

std::error_code FileSystem::sync(int descriptor) const {
    const int result = uninterrupted([&] { return calls_.fsync(descriptor); });
    // Some network file systems cannot sync a directory and say EINVAL: there is nothing more to do then.
    return result == 0 || errno == EINVAL ? std::error_code{} : last_error();
}

std::error_code FileSystem::read(const std::string& path, std::string& bytes, Trust trust, std::int64_t limit) const {
    int descriptor = -1;
    // Non-blocking: a pipe or device under that name must not hang the caller.
    const int flags = O_RDONLY | O_NONBLOCK | (trust == Trust::owner ? O_NOFOLLOW : 0);
    if (const auto error = open(path, flags, 0, descriptor)) return error;
    auto error = read_open(descriptor, bytes, trust, limit);
    const auto closed = close(descriptor);
    return error ? error : closed;
}

std::error_code FileSystem::read_open(int descriptor, std::string& bytes, Trust trust, std::int64_t limit) const {
    struct stat raw {};
    if (uninterrupted([&] { return calls_.fstat(descriptor, &raw); }) != 0) return last_error();
    const FileStatus status = from_stat(raw);
    if (status.kind == FileStatus::Kind::directory) return std::make_error_code(std::errc::is_a_directory);
    if (trust == Trust::owner && (status.kind != FileStatus::Kind::file || !why_not_trusted(status).empty()))
        return std::make_error_code(std::errc::operation_not_permitted);
    if (status.bytes > limit) return std::make_error_code(std::errc::file_too_large);
    bytes.clear();
    // One byte more than its size tells the end without another read, and shows growth meanwhile.
    std::size_t room = static_cast<std::size_t>(status.bytes) + 1;
    for (;;) {
        const std::size_t have = bytes.size();
        bytes.resize(have + room);
        const ssize_t got = uninterrupted([&] { return calls_.read(descriptor, bytes.data() + have, room); });
        const std::error_code error = got < 0 ? last_error() : std::error_code{};
        bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (error || got == 0) return error;
        if (static_cast<std::int64_t>(bytes.size()) > limit) return std::make_error_code(std::errc::file_too_large);
        room = std::max<std::size_t>(room - static_cast<std::size_t>(got), 4096);
    }
}

std::error_code FileSystem::create_beside(const std::string& path, mode_t mode, std::string& temporary,
                                          int& descriptor) const {
    std::error_code error;
    for (int attempt = 0; attempt < 8; ++attempt) {
        temporary = fmt::format("{}.{}{}", path, unique_text(), temporary_suffix);
        error = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, descriptor);
        if (error != std::errc::file_exists) break;
    }
    return error;
}

std::error_code FileSystem::write_open(int descriptor, std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t put = uninterrupted([&] { return calls_.write(descriptor, bytes.data(), bytes.size()); });
        if (put < 0) return last_error();
        if (put == 0) return std::make_error_code(std::errc::io_error);
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return sync(descriptor);
}

std::error_code FileSystem::write_atomically(const std::string& path, std::string_view bytes, mode_t mode) const {
    std::string temporary;
    int descriptor = -1;
    if (const auto error = create_beside(path, mode, temporary, descriptor)) return error;
    auto error = write_open(descriptor, bytes);
    // A network file system may report a lost write (quota, no space) only when closing.
    const auto closed = close(descriptor);
    if (!error) error = closed;
    if (!error && uninterrupted([&] { return calls_.rename(temporary.c_str(), path.c_str()); }) != 0)
        error = last_error();
    if (error) {
        remove(temporary);
        return error;
    }
    if ((error = open(directory_of(path), O_RDONLY | O_DIRECTORY, 0, descriptor))) return error;
    error = sync(descriptor);
    close(descriptor);
    return error;
}

std::error_code FileSystem::list(const std::string& directory, std::vector<std::string>& names) const {
    names.clear();
    if (uninterrupted([&] {
            names.clear();
            return calls_.list(directory.c_str(), &names);
        }) != 0)
        return last_error();
    std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
    std::sort(names.begin(), names.end());
    return {};
}

std::error_code FileSystem::status(const std::string& path, FileStatus& status) const {
    struct stat raw {};
    if (uninterrupted([&] { return calls_.lstat(path.c_str(), &raw); }) != 0) return last_error();
    status = from_stat(raw);
    return {};
}

std::error_code FileSystem::target_status(const std::string& path, FileStatus& status) const {
    int descriptor = -1;
    if (const auto error = open(path, O_RDONLY | O_NONBLOCK, 0, descriptor)) return error;
    struct stat raw {};
    const bool good = uninterrupted([&] { return calls_.fstat(descriptor, &raw); }) == 0;
    const auto error = good ? std::error_code{} : last_error();
    if (good) status = from_stat(raw);
    const auto closed = close(descriptor);
    return error ? error : closed;
}

std::error_code FileSystem::remove(const std::string& path) const {
    if (uninterrupted([&] { return calls_.unlink(path.c_str()); }) == 0 || errno == ENOENT) return {};
    return last_error();
}

std::error_code FileSystem::make_directories(const std::string& path, mode_t mode) const {
    const auto make = [&](const std::string& part) {
        return uninterrupted([&] { return calls_.mkdir(part.c_str(), mode); }) == 0 ? std::error_code{} : last_error();
    };
    auto error = make(path);
    if (error == std::errc::no_such_file_or_directory && directory_of(path) != path) {
        if (const auto parent = make_directories(directory_of(path), mode)) return parent;
        error = make(path);
    }
    if (error != std::errc::file_exists) return error;
    // Through a symbolic link too: opening as a directory is the test.
    int descriptor = -1;
    if (const auto opened = open(path, O_RDONLY | O_DIRECTORY, 0, descriptor)) return opened;
    return close(descriptor);
}

std::error_code FileSystem::lock_directory(const std::string& directory, FileLock& lock) const {
    int descriptor = -1;
    if (const auto error = open(directory, O_RDONLY | O_DIRECTORY, 0, descriptor)) return error;
    if (uninterrupted([&] { return calls_.flock(descriptor, LOCK_EX); }) != 0) {
        const auto error = last_error();
        close(descriptor);
        return error;
    }
    lock = FileLock(descriptor, calls_.close);
    return {};
}

bool is_temporary_name(std::string_view name) { return name.ends_with(temporary_suffix); }

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace msda
