// Every file-system call behind a launch fails in turn, with every error that disks and network mounts know: the
// launches go on, what was on disk stays as it was, nothing is left open or behind, and one warning says what happened.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "generator/plan.hpp"
#include "msda/error.hpp"
#include "runtime/pack/pack.hpp"
#include "tests/fakes/faulty_files.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database_file.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

constexpr std::array errors = {ENOSPC, EIO, EACCES, EROFS, EDQUOT, ESTALE, EMFILE, EINTR};

// Of a family of its own, so that no record is near it and the default config's kernels are the packed ones.
Problem packed_problem() {
    Problem problem = small_problem(7);
    problem.heads = 4;
    return normalise(problem);
}

// One problem whose kernel is cached, one with a record, one in the pack, one new.
void launch_all(FakeMachine& m) {
    for (const int queries : {5, 6, 8}) m.runtime->prepare(small_problem(queries)).launch(some_tensors());
    m.runtime->prepare(packed_problem()).launch(some_tensors());
}

// A file for each part of the runtime that has one: a cached kernel, a record of the user's, a pack.
class Disk {
  public:
    explicit Disk(FakeMachine& machine) : machine_(machine) {
        Database records;
        records.add(test::record_of(normalise(small_problem(6)), machine.runtime->silicon(Device::gpu())));
        save_database(FileSystem(), database(), records);
        write_pack_file();
        machine_.packs = pack();
        start(SystemCalls::real());
        machine_.runtime->prepare(small_problem(5)).launch(some_tensors());
        cached_ = content(machine.directory / "cache");
    }

    // A new process on this disk as it was at first.
    void start(SystemCalls calls) {
        machine_.start();
        if (!cached_.empty())
            for (const auto& [name, bytes] : content(machine_.directory / "cache"))
                if (!cached_.contains(name)) std::filesystem::remove(machine_.directory / ("cache/" + name));
        Runtime::State& state = machine_.runtime->state();
        state.files = FileSystem(calls);
        LayersOptions layers;
        layers.user_file = database();
        layers.builtin = false;
        layers.packs = [&state] { return state.packs.layers(); };
        layers.warn = [&state](const std::string& message) { state.warnings.once(message, message); };
        state.layers = Layers(std::move(layers), FileSystem(std::move(calls)));
    }

    // What was there before is there still, to the byte, and nothing else but whole cache entries.
    void check_intact() const {
        const auto now = content(machine_.directory / "cache");
        for (const auto& [name, bytes] : cached_) {
            REQUIRE(now.contains(name));
            CHECK(now.at(name) == bytes);
        }
        for (const auto& [name, bytes] : now) CHECK(name.ends_with(".msda-bin"));
        CHECK(read_text(database()) == database_);
        CHECK(read_text(pack()) == pack_);
        CHECK(content(machine_.directory / "own").size() == 2);
    }

  private:
    static std::map<std::string, std::string> content(const std::string& directory) {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(directory))
            files[entry.path().filename()] = read_text(entry.path());
        return files;
    }
    std::string database() const { return machine_.directory / "own/tuning.json"; }
    std::string pack() const { return machine_.directory / "own/a.pack"; }

    void write_pack_file() {
        const Problem problem = packed_problem();
        const Config config = default_config(problem, machine_.runtime->silicon(Device::gpu()));
        const CompileRequest request = compile_request(problem, config, 90);
        PackedKernels kernels;
        kernels.source_digest = source_digest(request);
        kernels.capability = kernels.binary.target.capability = 90;
        kernels.binary.bytes = "FAKE " + request.source;
        PackContent content;
        content.generator = "test";
        content.kernels = {kernels};
        database_ = read_text(database());
        pack_ = write_pack(std::move(content));
        REQUIRE_FALSE(FileSystem().write_atomically(pack(), pack_, 0600));
    }

    FakeMachine& machine_;
    std::map<std::string, std::string> cached_;
    std::string database_, pack_;
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("every file-system call behind a launch fails in turn, once") {
    FakeMachine m;
    Disk disk(m);
    // Without a fault: one kernel from the cache, one from the pack, two compiled.
    disk.start(SystemCalls::real());
    const int compiled = m.nvrtc.calls("nvrtcCompileProgram");
    launch_all(m);
    CHECK(m.nvrtc.calls("nvrtcCompileProgram") == compiled + 2);
    CHECK(m.warnings.empty());
    int faults = 0;
    std::set<std::string> calls;
    for (const int error : errors)
        for (int nth = 1;; ++nth) {
            CAPTURE(error);
            CAPTURE(nth);
            FaultyFiles faulty;
            disk.start(faulty.calls());
            m.warnings.clear();
            faulty.fail_any(error, nth);
            const std::size_t before = m.driver.launches().size();
            launch_all(m);
            if (faulty.failed().empty()) break;
            CAPTURE(faulty.failed());
            ++faults;
            calls.insert(faulty.failed());
            CHECK(m.driver.launches().size() == before + 4);
            CHECK(m.warnings.size() <= 1);
            if (error == EINTR) CHECK(m.warnings.empty());
            CHECK(faulty.open_descriptors() == 0);
            disk.check_intact();
        }
    MESSAGE(faults << " file-system calls failed in turn, of " << calls.size() << " kinds");
    CHECK(faults > 150);
    for (const char* call : {"open", "read", "write", "fsync", "close", "fstat", "lstat", "rename"})
        CHECK_MESSAGE(calls.contains(call), call);
}

TEST_CASE("from the n-th call on every call fails: a disk that is gone for good") {
    FakeMachine m;
    Disk disk(m);
    for (const int error : {ENOSPC, EIO, EACCES, EROFS})
        for (int nth = 1;; nth += 3) {
            CAPTURE(error);
            CAPTURE(nth);
            FaultyFiles faulty;
            disk.start(faulty.calls());
            m.warnings.clear();
            faulty.fail_any(error, nth, 1 << 20);
            const std::size_t before = m.driver.launches().size();
            launch_all(m);
            if (faulty.failed().empty()) break;
            CHECK(m.driver.launches().size() == before + 4);
            // One for each part that met the fault: cache, database, pack.
            CHECK(m.warnings.size() <= 3);
            CHECK(std::set(m.warnings.begin(), m.warnings.end()).size() == m.warnings.size());
            CHECK(faulty.open_descriptors() == 0);
        }
}

TEST_CASE("every call of saving a database fails in turn: an error or a saved record, never a lost one") {
    const Silicon silicon;
    const auto one = [&](int queries) {
        Database database;
        database.add(test::record_of(normalise(small_problem(queries)), silicon));
        return database;
    };
    int faults = 0;
    for (const int error : errors)
        for (int nth = 1;; ++nth) {
            CAPTURE(error);
            CAPTURE(nth);
            const TemporaryDirectory directory;
            const std::string path = directory / "d/db.json";
            save_database(FileSystem(), path, one(5));
            const std::string old = read_text(path);
            FaultyFiles faulty;
            faulty.fail_any(error, nth);
            const auto [code, message] = error_of([&] { save_database(FileSystem(faulty.calls()), path, one(6)); });
            if (faulty.failed().empty()) break;
            CAPTURE(faulty.failed());
            ++faults;
            CHECK((code == Code{} || code == Code::io_failed));
            CHECK((code == Code{} || message.find(path) != std::string::npos));
            const ParsedDatabase now = load_database(FileSystem(), path);
            CHECK(now.complaints.empty());
            CHECK(now.database.size() == (code == Code{} ? 2 : read_text(path) == old ? 1 : 2));
            CHECK(directory.files() == 1);
            CHECK(faulty.open_descriptors() == 0);
            save_database(FileSystem(), path, one(6));
            CHECK(load_database(FileSystem(), path).database.size() == 2);
        }
    MESSAGE(faults << " calls of saving failed in turn");
    CHECK(faults > 60);
}

TEST_SUITE_END();
