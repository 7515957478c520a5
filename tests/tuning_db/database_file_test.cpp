// Saving: merges with what is there, survives full and read-only disks, never replaces what it cannot read.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include "msda/error.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database_file.hpp"

using namespace msda;
using namespace msda::test;

namespace {

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Database one(int queries, double speedup = 1.25) {
    Database database;
    database.add(record_of(decoder(queries), h200(), speedup));
    return database;
}

Code code_of_save(const FileSystem& files, const std::string& path, const Database& database) {
    try {
        save_database(files, path, database);
    } catch (const Error& error) {
        return error.code();
    }
    return Code{};
}

}  // namespace

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("saving makes directories, merges and never gets smaller") {
    const TemporaryDirectory directory;
    const FileSystem files;
    const std::string path = directory / "a/b/db.json";
    save_database(files, path, one(100));
    save_database(files, path, one(200));
    save_database(files, path, {});
    CHECK(load_database(files, path).database.size() == 2);
    save_database(files, path, one(100, 1.1));
    CHECK(*load_database(files, path).database.find(canonical(decoder(100)), key_of(h200())) ==
          record_of(decoder(100), h200(), 1.25));
    std::vector<std::string> names;
    files.list(directory / "a/b", names);
    CHECK(names == std::vector<std::string>{"db.json"});
}

TEST_CASE("many writers at once keep all records") {
    const TemporaryDirectory directory;
    const std::string path = directory / "db.json";
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 8; writer++)
        writers.emplace_back([&, writer] {
            for (int i = 0; i < 5; i++) save_database(FileSystem(), path, one(1000 + 10 * writer + i));
        });
    for (std::thread& writer : writers) writer.join();
    CHECK(load_database(FileSystem(), path).database.size() == 40);
}

TEST_CASE("a file with a damaged or newer header is left alone") {
    const TemporaryDirectory directory;
    const std::string path = directory / "db.json";
    for (const std::string& text :
         {std::string("not a database\n"), std::string(),
          std::string("{\"database\":{\"format\":\"msda-tuning-database\",\"schema\":99},\"records\":[\n]}\n")}) {
        put(path, text);
        CHECK(code_of_save(FileSystem(), path, one(100)) == Code::bad_file);
        CHECK(content(path) == text);
    }
}

TEST_CASE("lines that cannot be read are kept beside the file") {
    const TemporaryDirectory directory;
    const FileSystem files;
    const std::string path = directory / "db.json";
    save_database(files, path, one(100));
    save_database(files, path, one(200));
    std::string damaged = content(path);
    damaged[damaged.find('\n') + 5] = '#';
    put(path, damaged);
    save_database(files, path, one(300));
    CHECK(load_database(files, path).database.size() == 2);
    CHECK(content(path + ".damaged") == damaged);
}

TEST_CASE("temporaries of killed writers go once they are old, those of others stay") {
    const TemporaryDirectory directory;
    const std::string path = directory / "db.json";
    for (const char* name : {"db.json.1-2-3.msda-tmp", "db.json.4-5-6.msda-tmp", "other.json.7-8-9.msda-tmp"})
        put(directory / name, "half");
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    for (const char* name : {"db.json.1-2-3.msda-tmp", "other.json.7-8-9.msda-tmp"})
        REQUIRE(::utimensat(AT_FDCWD, (directory / name).c_str(), long_ago, 0) == 0);
    save_database(FileSystem(), path, one(100));
    std::vector<std::string> names;
    FileSystem().list(directory.path(), names);
    CHECK(names == std::vector<std::string>{"db.json", "db.json.4-5-6.msda-tmp", "other.json.7-8-9.msda-tmp"});
}

TEST_CASE("full disk, I/O error, read-only target: a clear error and the old file intact") {
    const TemporaryDirectory directory;
    const std::string path = directory / "db.json";
    save_database(FileSystem(), path, one(100));
    const std::string old = content(path);
    for (const int number : {ENOSPC, EIO, EDQUOT, EROFS}) {
        SystemCalls calls = SystemCalls::real();
        calls.write = [number](int, const void*, std::size_t) -> ssize_t { return errno = number, -1; };
        CHECK(code_of_save(FileSystem(calls), path, one(200)) == Code::io_failed);
        calls = SystemCalls::real();
        calls.rename = [number](const char*, const char*) { return errno = number, -1; };
        CHECK(code_of_save(FileSystem(calls), path, one(200)) == Code::io_failed);
        calls = SystemCalls::real();
        calls.open = [number, real = calls.open](const char* name, int flags, mode_t mode) {
            return flags & O_CREAT ? (errno = number, -1) : real(name, flags, mode);
        };
        CHECK(code_of_save(FileSystem(calls), path, one(200)) == Code::io_failed);
        CHECK(content(path) == old);
    }
    std::vector<std::string> names;
    FileSystem().list(directory.path(), names);
    CHECK(names == std::vector<std::string>{"db.json"});
}

TEST_CASE("a file system without locks is written all the same") {
    const TemporaryDirectory directory;
    SystemCalls calls = SystemCalls::real();
    calls.flock = [](int, int) { return errno = ENOLCK, -1; };
    save_database(FileSystem(calls), directory / "db.json", one(100));
    CHECK(load_database(FileSystem(), directory / "db.json").database.size() == 1);
}

TEST_CASE("loading what is missing names the file") {
    try {
        load_database(FileSystem(), "/nowhere/db.json");
        FAIL("loaded");
    } catch (const Error& error) {
        CHECK(error.code() == Code::io_failed);
        CHECK(std::string(error.what()).find("/nowhere/db.json") != std::string::npos);
    }
}

TEST_SUITE_END();
