#include "tuning_db/file_system.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/fakes/faulty_files.hpp"
#include "tests/fakes/temporary_directory.hpp"

using namespace msda;
using namespace msda::fakes;

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("a file written atomically is read back, replaced whole, and leaves no temporary") {
    const TemporaryDirectory directory;
    const FileSystem files;
    const std::string path = directory / "a";
    std::string bytes(100000, 'x');
    bytes[77] = '\0';
    REQUIRE_FALSE(files.write_atomically(path, bytes));
    std::string back;
    REQUIRE_FALSE(files.read(path, back));
    CHECK(back == bytes);
    REQUIRE_FALSE(files.write_atomically(path, "short"));
    REQUIRE_FALSE(files.read(path, back));
    CHECK(back == "short");
    CHECK(directory.files() == 1);
}

TEST_CASE("each failing call of an atomic write leaves the old content and no temporary") {
    // rename and everything before it: the old file stays.
    for (const char* call : {"open", "write", "fsync", "close", "rename"})
        for (const int error : {ENOSPC, EIO, EACCES, EROFS, EDQUOT}) {
            CAPTURE(call);
            CAPTURE(error);
            const TemporaryDirectory directory;
            const std::string path = directory / "a";
            REQUIRE_FALSE(FileSystem().write_atomically(path, "old"));
            FaultyFiles faulty;
            const FileSystem files(faulty.calls());
            faulty.fail(call, error);
            CHECK(files.write_atomically(path, "new").value() == error);
            CHECK(read_text(path) == "old");
            CHECK(directory.files() == 1);
            CHECK(faulty.open_descriptors() == 0);
            faulty.fail_none();
            CHECK_FALSE(files.write_atomically(path, "new"));
            CHECK(read_text(path) == "new");
        }
}

TEST_CASE("a directory that cannot be synced is reported, one that never can (EINVAL) is not") {
    const TemporaryDirectory directory;
    FaultyFiles faulty;
    const FileSystem files(faulty.calls());
    faulty.fail("fsync", EIO, 2);
    CHECK(files.write_atomically(directory / "a", "new").value() == EIO);
    CHECK(read_text(directory / "a") == "new");
    faulty.fail("fsync", EINVAL, 2);
    CHECK_FALSE(files.write_atomically(directory / "a", "newer"));
}

TEST_CASE("interruptions and short writes are carried through") {
    const TemporaryDirectory directory;
    FaultyFiles faulty;
    const FileSystem files(faulty.calls());
    faulty.limit_writes(7);
    for (const char* call : {"open", "write", "fsync", "rename", "read", "fstat", "list", "unlink", "mkdir"})
        faulty.fail(call, EINTR, 1, 3);
    faulty.fail("close", EINTR, 1, 1);
    const std::string text(1000, 'y');
    REQUIRE_FALSE(files.make_directories(directory / "d/e"));
    REQUIRE_FALSE(files.write_atomically(directory / "d/e/a", text));
    std::string back;
    REQUIRE_FALSE(files.read(directory / "d/e/a", back));
    CHECK(back == text);
    std::vector<std::string> names;
    REQUIRE_FALSE(files.list(directory / "d/e", names));
    CHECK(names == std::vector<std::string>{"a"});
    REQUIRE_FALSE(files.remove(directory / "d/e/a"));
    CHECK(directory.files() == 0);
    CHECK(faulty.open_descriptors() == 0);
}

TEST_CASE("an owner-only read refuses links, foreign writers and what is no file") {
    const TemporaryDirectory directory;
    const FileSystem files;
    const std::string path = directory / "a";
    REQUIRE_FALSE(files.write_atomically(path, "code"));
    std::string bytes;
    CHECK_FALSE(files.read(path, bytes, Trust::owner));
    REQUIRE(::symlink(path.c_str(), (directory / "link").c_str()) == 0);
    CHECK(files.read(directory / "link", bytes, Trust::owner));
    CHECK_FALSE(files.read(directory / "link", bytes, Trust::anybody));
    REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
    CHECK(files.read(directory / "pipe", bytes, Trust::owner) == std::errc::operation_not_permitted);
    for (const mode_t mode : {0620, 0602, 0666}) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        CHECK(files.read(path, bytes, Trust::owner) == std::errc::operation_not_permitted);
    }
    CHECK(files.read(path, bytes, Trust::anybody, 3) == std::errc::file_too_large);
    CHECK(files.read(directory.path(), bytes) == std::errc::is_a_directory);
}

TEST_CASE("who owns a file decides whether it is trusted") {
    FileStatus status;
    status.owner = ::geteuid();
    status.mode = 0644;
    CHECK(why_not_trusted(status).empty());
    status.owner = 0;
    CHECK(why_not_trusted(status).empty());
    status.owner = ::geteuid() + 1;
    CHECK(why_not_trusted(status).find("belongs to user") != std::string::npos);
    status.owner = ::geteuid();
    status.mode = 0664;
    CHECK(why_not_trusted(status).find("chmod go-w") != std::string::npos);
}

TEST_CASE("a directory lock excludes, and ends with its owner") {
    const TemporaryDirectory directory;
    FaultyFiles faulty;
    const FileSystem files(faulty.calls());
    {
        FileLock lock;
        REQUIRE_FALSE(files.lock_directory(directory.path(), lock));
        CHECK(faulty.open_descriptors() == 1);
    }
    CHECK(faulty.open_descriptors() == 0);
    faulty.fail("flock", ENOLCK);
    FileLock lock;
    CHECK(files.lock_directory(directory.path(), lock).value() == ENOLCK);
    CHECK(faulty.open_descriptors() == 0);
}

TEST_SUITE_END();
