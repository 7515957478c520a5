#include "runtime/disk_cache.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <vector>

#include "msda/error.hpp"
#include "tests/fakes/faulty_files.hpp"
#include "tests/fakes/temporary_directory.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

const std::string key(32, 'a');
const std::string payload = "machine code " + std::string(5000, '\x7f');

// A cache in a fresh directory, over calls that can fail.
struct Cache {
    TemporaryDirectory directory;
    FaultyFiles faulty;
    FileSystem files{faulty.calls()};
    std::vector<std::string> messages;
    Warnings warnings{[this](const std::string& message) { messages.push_back(message); }};
    DiskCache cache{files, directory / "cache", warnings};

    std::string path(const std::string& of = key) const { return directory / ("cache/" + of + ".msda-bin"); }
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("disk cache: what is stored is loaded, by this and by another cache") {
    Cache c;
    CHECK_FALSE(c.cache.load(key).has_value());
    c.cache.store(key, payload);
    CHECK(c.cache.load(key) == payload);
    DiskCache other(c.files, c.directory / "cache", c.warnings);
    CHECK(other.load(key) == payload);
    CHECK_FALSE(other.load(std::string(32, 'b')).has_value());
    CHECK(c.messages.empty());
    CHECK(c.directory.files() == 1);
    struct stat status {};
    REQUIRE(::stat((c.directory / "cache").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("lesson 24: truncated and flipped entries are removed, made anew, and warned of once") {
    Cache c;
    c.cache.store(key, payload);
    const std::string good = read_text(c.path());
    std::vector<std::string> damaged;
    for (std::size_t eighth = 0; eighth < 8; ++eighth) damaged.push_back(good.substr(0, good.size() * eighth / 8));
    for (std::size_t at = 0; at < good.size(); at += at < 100 ? 1 : 97) {
        damaged.push_back(good);
        damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0x10);
    }
    damaged.push_back(good + "tail");
    for (const std::string& bytes : damaged) {
        REQUIRE_FALSE(FileSystem().write_atomically(c.path(), bytes));
        CHECK_FALSE(c.cache.load(key).has_value());
        CHECK(c.directory.files() == 0);
        c.cache.store(key, payload);
        CHECK(c.cache.load(key) == payload);
    }
    CHECK(c.messages.size() == 1);
    CHECK(c.messages.at(0).find("damaged") != std::string::npos);
}

TEST_CASE("what is stored along waits for the first entry, and makes no directory of its own") {
    Cache c;
    const std::string note(32, 'c');
    c.cache.store_along(note, "learnt");
    CHECK(access((c.directory / "cache").c_str(), F_OK) != 0);
    c.cache.store(key, payload);
    CHECK(c.directory.files() == 2);
    CHECK(c.cache.load(note) == "learnt");
    const std::string later(32, 'd');
    c.cache.store_along(later, "as well");
    CHECK(c.cache.load(later) == "as well");
    CHECK(c.messages.empty());
}

TEST_CASE("an entry stored under another key is not taken for this one") {
    Cache c;
    c.cache.store(key, payload);
    const std::string other(32, 'b');
    REQUIRE_FALSE(FileSystem().write_atomically(c.path(other), read_text(c.path())));
    CHECK_FALSE(c.cache.load(other).has_value());
}

TEST_CASE("lesson 25: every failing call means memory only and one warning that names the variable") {
    for (const char* call : {"open", "read", "write", "fsync", "close", "fstat", "rename", "mkdir"})
        for (const int error : {ENOSPC, EIO, EACCES, EROFS, EDQUOT})
            for (const int nth : {1, 2, 3}) {
                CAPTURE(call);
                CAPTURE(error);
                CAPTURE(nth);
                Cache c;
                c.faulty.fail(call, error, nth, 1000);
                for (int round = 0; round < 3; ++round) {
                    const auto found = c.cache.load(key);
                    if (found.has_value()) CHECK(*found == payload);
                    c.cache.store(key, payload);
                }
                CHECK(c.messages.size() <= 1);
                for (const std::string& message : c.messages)
                    CHECK(message.find("MSDA_CACHE_DIR") != std::string::npos);
                CHECK(c.faulty.open_descriptors() == 0);
                // Once the fault is gone, another process uses the directory, whatever was left there.
                c.faulty.fail_none();
                DiskCache next(c.files, c.directory / "cache", c.warnings);
                next.store(key, payload);
                CHECK(next.load(key) == payload);
                CHECK(c.directory.files() == 1);
            }
}

TEST_CASE("an entry that cannot be read is left alone") {
    Cache c;
    c.cache.store(key, payload);
    c.faulty.fail("read", EIO);
    CHECK_FALSE(c.cache.load(key).has_value());
    CHECK(c.messages.size() == 1);
    CHECK(c.directory.files() == 1);
    CHECK(c.cache.load(key) == payload);
}

TEST_CASE("directories and files that others can write are refused") {
    Cache c;
    c.cache.store(key, payload);
    REQUIRE(::chmod(c.path().c_str(), 0666) == 0);
    CHECK_FALSE(c.cache.load(key).has_value());
    CHECK(c.directory.files() == 1);
    REQUIRE(::chmod(c.path().c_str(), 0600) == 0);
    REQUIRE(::chmod((c.directory / "cache").c_str(), 0777) == 0);
    std::vector<std::string> messages;
    Warnings warnings([&](const std::string& message) { messages.push_back(message); });
    DiskCache open_to_all(c.files, c.directory / "cache", warnings);
    CHECK_FALSE(open_to_all.load(key).has_value());
    open_to_all.store(std::string(32, 'b'), payload);
    CHECK(c.directory.files() == 1);
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].find("chmod go-w") != std::string::npos);
}

TEST_CASE("a cache without a directory is silent, or says why once") {
    Cache c;
    DiskCache off(c.files, "", c.warnings);
    off.store(key, payload);
    CHECK_FALSE(off.load(key).has_value());
    CHECK(c.messages.empty());
    DiskCache homeless(c.files, "", c.warnings, "HOME is not set");
    homeless.store(key, payload);
    homeless.store(key, payload);
    CHECK(c.messages.size() == 1);
}

TEST_CASE("prune removes by age, then by size, the least recently used first, and old temporaries") {
    Cache c;
    const std::string keys[3] = {std::string(32, '1'), std::string(32, '2'), std::string(32, '3')};
    const std::int64_t now = std::time(nullptr);
    for (int i = 0; i < 3; ++i) {
        c.cache.store(keys[i], payload);
        const timespec times[2] = {{now - 1000 * (i + 1), 0}, {now - 1000 * (i + 1), 0}};
        REQUIRE(::utimensat(AT_FDCWD, c.path(keys[i]).c_str(), times, 0) == 0);
    }
    write_text(c.directory / "cache/x.1-2-3.msda-tmp", "half");
    write_text(c.directory / "cache/README", "not ours");
    const DiskCache::Usage usage = c.cache.usage();
    CHECK(usage.entries == 3);
    const std::int64_t one = usage.bytes / 3;
    CHECK(c.cache.prune(10 * one, 2500, now).entries == 1);
    CHECK_FALSE(c.cache.load(keys[2]).has_value());
    CHECK(c.cache.prune(one, 100000, now).entries == 1);
    CHECK(c.cache.load(keys[0]) == payload);
    CHECK(c.cache.usage().entries == 1);
    CHECK(c.directory.files() == 3);  // entry, young temporary, foreign file
    c.cache.prune(10 * one, 100000, now + 7200);
    CHECK(c.directory.files() == 2);
    c.faulty.fail("list", EIO);
    CHECK_THROWS_AS(c.cache.usage(), Error);
}

TEST_SUITE_END();
