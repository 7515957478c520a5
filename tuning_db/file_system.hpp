// Files as the caches, the database and packs need them: read whole, write atomically, list, remove, judge ownership.
// Every system call goes through SystemCalls, one seam that tests replace to inject faults (ENOSPC, EIO, short writes,
// EINTR, …).
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace msda {

// The system calls behind FileSystem, with their POSIX meaning: −1 and errno on failure. `list` fills the names in a
// directory.
struct SystemCalls {
    std::function<int(const char* path, int flags, mode_t mode)> open;
    std::function<ssize_t(int descriptor, void* bytes, std::size_t count)> read;
    std::function<ssize_t(int descriptor, const void* bytes, std::size_t count)> write;
    std::function<int(int descriptor)> fsync;
    std::function<int(int descriptor)> close;
    std::function<int(int descriptor, struct stat* status)> fstat;
    std::function<int(const char* path, struct stat* status)> lstat;
    std::function<int(const char* from, const char* to)> rename;
    std::function<int(const char* path)> unlink;
    std::function<int(const char* path, mode_t mode)> mkdir;
    std::function<int(const char* path, std::vector<std::string>* names)> list;
    std::function<int(int descriptor, int operation)> flock;

    // The operating system's own.
    static SystemCalls real();
};

// What is known of a path, without following a symbolic link.
struct FileStatus {
    enum class Kind : std::uint8_t { file, directory, other } kind = Kind::other;
    std::int64_t bytes = 0;
    std::int64_t modified = 0;  // seconds since 1970
    std::int64_t used = 0;      // seconds since 1970: the later of last read (where the mount keeps it) and last change
    std::uint32_t owner = 0;    // user id
    std::uint32_t mode = 0;     // permission bits
};

// Empty when the file or directory belongs to this user or root and nobody else can write it, else one sentence that
// says why not. What holds code (cache entries, packs) is used only where this is empty: checksums detect damage,
// ownership is trust.
std::string why_not_trusted(const FileStatus& status);

// Who may have written what is read: anybody, or only this user and root (else std::errc::operation_not_permitted).
enum class Trust : std::uint8_t { anybody, owner };

// An advisory lock that the kernel drops when it is destroyed or the process dies, so none is ever left behind.
class FileLock {
  public:
    FileLock() = default;
    FileLock(int descriptor, std::function<int(int)> close) : descriptor_(descriptor), close_(std::move(close)) {}
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) noexcept;
    ~FileLock();

  private:
    int descriptor_ = -1;
    std::function<int(int)> close_;
};

// File operations that report failure by a std::error_code (errno's value, generic category) and never throw one.
// Retries EINTR and short transfers; safe to use from several threads and in directories shared with other processes
// and nodes.
class FileSystem {
  public:
    explicit FileSystem(SystemCalls calls = SystemCalls::real()) : calls_(std::move(calls)) {}

    // Replaces `bytes` by the file's content. Longer than `limit` bytes: std::errc::file_too_large. With Trust::owner a
    // symbolic link is not followed and ownership is judged on the open file, so nothing can be exchanged in between.
    std::error_code read(const std::string& path, std::string& bytes, Trust trust = Trust::anybody,
                         std::int64_t limit = std::int64_t{1} << 30) const;

    // Replaces the file by `bytes` in one step: a new file beside it (never through a link), written, synced, renamed,
    // and the directory synced. A reader sees the old or the new content; on an error before the rename the old one
    // stays and no temporary is left.
    std::error_code write_atomically(const std::string& path, std::string_view bytes, mode_t mode = 0600) const;

    // Names in a directory, sorted, without "." and "..".
    std::error_code list(const std::string& directory, std::vector<std::string>& names) const;

    std::error_code status(const std::string& path, FileStatus& status) const;

    // The same of what a symbolic link leads to; the file must be readable.
    std::error_code target_status(const std::string& path, FileStatus& status) const;

    // Removing what is not there is no error.
    std::error_code remove(const std::string& path) const;

    // Makes the directory and its missing parents; what exists stays as it is.
    std::error_code make_directories(const std::string& path, mode_t mode = 0700) const;

    // Waits for the advisory lock of an existing directory. File systems without locks report an error; the caller may
    // go on without.
    std::error_code lock_directory(const std::string& directory, FileLock& lock) const;

  private:
    std::error_code open(const std::string& path, int flags, mode_t mode, int& descriptor) const;
    std::error_code read_open(int descriptor, std::string& bytes, Trust trust, std::int64_t limit) const;
    std::error_code create_beside(const std::string& path, mode_t mode, std::string& temporary, int& descriptor) const;
    std::error_code write_open(int descriptor, std::string_view bytes) const;
    std::error_code sync(int descriptor) const;
    std::error_code close(int descriptor) const;

    SystemCalls calls_;
};

// True for the names that write_atomically gives its temporaries: those of a killed process may be removed once they
// are old.
bool is_temporary_name(std::string_view name);

// The directory part of a path: "." when it has none.
std::string directory_of(const std::string& path);

}  // namespace msda
