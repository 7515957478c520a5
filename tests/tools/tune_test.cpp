// tune, db, report and pack as commands, on the simulated device.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "msda/error.hpp"
#include "tests/tools/command.hpp"
#include "tools/cli/svg_plot.hpp"
#include "tools/cli/tune.hpp"

using msda::test::Command;
using nlohmann::json;

namespace {

// Two shapes, one type, forward.
std::vector<std::string> simulated(const std::string& db, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"tune", "rtdetr", "dfine", "--dtype", "f16", "--simulate", "--db", db};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

json shown(const Command& msda, const std::string& db) {
    return json::parse(msda({"db", "show", db, "--json"}).out)["records"];
}

}  // namespace

TEST_SUITE_BEGIN("tools");

TEST_CASE("tune writes records that db get finds, and --resume skips them") {
    const Command msda;
    const std::string db = msda.path("db.json");
    const auto tuned = msda(simulated(db, {"--json"}));
    CAPTURE(tuned.err);
    REQUIRE(tuned.status == 0);
    const json records = json::parse(tuned.out)["records"];
    REQUIRE(records.size() == 2);
    CHECK(records[0]["time_us"] <= records[0]["default_us"]);
    CHECK(records[0]["silicon"]["partition"] == "simulated");
    CHECK(records[0]["policy"] == 2);
    CHECK(records[0]["command"].get<std::string>().find("msda tune --problem 'pass=forward") == 0);
    CHECK(shown(msda, db).size() == 2);

    const auto got = msda({"db", "get", db, "--shape", "rtdetr", "--dtype", "f16", "--pass", "forward", "--json"});
    REQUIRE(got.status == 0);
    CHECK(json::parse(got.out)["how"] == "exact");
    const auto near = msda({"db", "get", db, "--shape", "rtdetr", "--batch", "2", "--dtype", "f16", "--json"});
    CHECK(json::parse(near.out)["how"] == "nearest");
    CHECK(json::parse(near.out)["distance"] == 1.0);
    const auto far = msda({"db", "get", db, "--shape", "rtdetr-b8", "--dtype", "f16", "--json"});
    CHECK(json::parse(far.out)["how"] == "heuristic");
    const auto none = msda({"db", "get", db, "--shape", "rtdetr", "--dtype", "f32", "--json"});
    CHECK(json::parse(none.out)["how"] == "heuristic");

    const std::string before = msda({"db", "hash", db}).out;
    const auto again = msda(simulated(db, {"--json", "--resume"}));
    CHECK(json::parse(again.out)["skipped"] == 2);
    CHECK(msda({"db", "hash", db}).out == before);
}

TEST_CASE("shards together tune what one run tunes; merge and diff") {
    const Command msda;
    REQUIRE(msda(simulated(msda.path("whole.json"))).status == 0);
    for (const char* part : {"1", "2"})
        REQUIRE(msda(simulated(msda.path(std::string(part) + ".json"), {"--shard", std::string(part) + "/2"})).status ==
                0);
    CHECK(shown(msda, msda.path("1.json")).size() == 1);
    REQUIRE(msda({"db", "merge", msda.path("merged.json"), msda.path("1.json"), msda.path("2.json")}).status == 0);
    const std::string hash = msda({"db", "hash", msda.path("merged.json")}).out;
    REQUIRE(
        msda({"db", "merge", msda.path("merged2.json"), msda.path("2.json"), msda.path("1.json"), msda.path("1.json")})
            .status == 0);
    CHECK(msda({"db", "hash", msda.path("merged2.json")}).out == hash);
    const auto diff = msda({"db", "diff", msda.path("whole.json"), msda.path("merged.json"), "--json"});
    // Candidates come from the compiler in another order each time, and so do winners among equals; what is won does
    // not.
    for (const json& difference : json::parse(diff.out)["differences"])
        CHECK(difference["left_us"].get<double>() ==
              doctest::Approx(difference["right_us"].get<double>()).epsilon(0.02));
    CHECK(msda({"db", "diff", msda.path("merged.json"), msda.path("merged2.json")}).out == "no difference\n");
}

TEST_CASE("db check names file and line, and never changes a file") {
    const Command msda;
    const std::string db = msda.path("db.json");
    REQUIRE(msda(simulated(db)).status == 0);
    CHECK(msda({"db", "check", db}).status == 0);
    std::string text = msda::fakes::read_text(db);
    text[text.find('\n') + 20] ^= 1;
    std::ofstream(db, std::ios::binary) << text;
    const auto checked = msda({"db", "check", db});
    CHECK(checked.status == 11);
    CHECK(checked.err.find(db + ":2: record skipped") != std::string::npos);
    CHECK(shown(msda, db).size() == 1);
    CHECK(msda::fakes::read_text(db) == text);
}

TEST_CASE("a file that is no database is refused before anything is measured, and left alone") {
    const Command msda;
    const std::string db = msda.path("notes.txt");
    std::ofstream(db) << "my notes\n";
    CHECK(msda(simulated(db)).status == 11);
    CHECK(msda::fakes::read_text(db) == "my notes\n");
    CHECK(msda(simulated("/proc/none/db.json")).status == 10);
    CHECK(msda({"db", "show", msda.path("missing.json")}).status == 10);
}

TEST_CASE("names, globs, shards and devices that do not fit are refused") {
    const Command msda;
    const std::string db = msda.path("db.json");
    CHECK(msda({"tune", "no-such-*", "--simulate", "--db", db}).status == 1);
    CHECK(msda({"tune", "rtdetr", "--shape", "dfine", "--simulate", "--db", db}).status == 2);
    CHECK(msda(simulated(db, {"--shard", "3/2"})).status == 2);
    CHECK(msda(simulated(db, {"--shard", "1"})).status == 2);
    CHECK(msda({"tune", "rtdetr", "--device", "cpu", "--db", db}).status == 3);
    CHECK_FALSE(std::filesystem::exists(db));
    CHECK(msda::cli::matching_shapes({"ddetr-?ec", "dfine"}) == "ddetr-dec,dfine");
    CHECK(msda::cli::parse_shard("").parts == 1);
}

TEST_CASE("a problem that cannot be tuned is said once, with the code of its own reason") {
    const Command msda;
    const std::string db = msda.path("db.json");
    const auto result = msda({"tune", "--levels", "4x4", "--queries", "3", "--batch", "0", "--simulate", "--db", db});
    CHECK(result.status == 2);
    CHECK(result.err.find("nothing to tune") != std::string::npos);
    CHECK(result.err.find("nothing to tune") == result.err.rfind("nothing to tune"));
    CHECK(result.err.find("1 problems could not be tuned") != std::string::npos);
}

TEST_CASE("SIGINT ends a long run with a valid file, --resume goes on") {
    const Command msda;
    const std::string db = msda.path("db.json");
    const std::string tool(msda::test::tool_path());
    const char* arguments[] = {tool.c_str(),       "tune",       "--all-shapes", "--dtype",  "f16,f32,bf16", "--pass",
                               "forward,backward", "--simulate", "--db",         db.c_str(), nullptr};
    pid_t pid = 0;
    REQUIRE(posix_spawn(&pid, tool.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environ) == 0);
    for (int i = 0; i < 600 && (!std::filesystem::exists(db) || std::filesystem::file_size(db) < 4000); i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(pid, SIGINT);
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 13);
    CHECK(msda({"db", "check", db}).status == 0);
    CHECK(shown(msda, db).size() >= 2);
}

TEST_CASE("a worker outlives the signals that a whole group gets, and ends with its parent's pipe") {
    const std::string tool(msda::test::tool_path());
    const char* arguments[] = {tool.c_str(), "worker", nullptr};
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    pid_t pid = 0;
    REQUIRE(posix_spawn(&pid, tool.c_str(), &actions, nullptr, const_cast<char**>(arguments), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    // An answer, whatever it says, shows that the worker serves.
    const std::string request = R"({"do":"nothing"})"
                                "\n";
    REQUIRE(write(in[1], request.data(), request.size()) == static_cast<ssize_t>(request.size()));
    char answer = 0;
    REQUIRE(read(out[0], &answer, 1) == 1);
    kill(pid, SIGTERM);
    kill(pid, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    int status = 0;
    CHECK(waitpid(pid, &status, WNOHANG) == 0);
    close(in[1]);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    close(out[0]);
}

TEST_CASE("what an application launches under MSDA_CAPTURE is tuned from there") {
    const Command msda;
    const std::string captured = msda.path("captured");
    const std::string db = msda.path("db.json");
    for (const char* dtype : {"f32", "f16"})
        REQUIRE(msda(msda::test::with_small_problem({"run", "--device", "cpu", "--dtype", dtype}),
                     {{"MSDA_CAPTURE", captured}, {"MSDA_CAPTURE_DATA", dtype == std::string("f16") ? "1" : "0"}})
                    .status == 0);
    const auto tuned = msda({"tune", "--capture", captured, "--simulate", "--db", db, "--json"});
    CAPTURE(tuned.err);
    REQUIRE(tuned.status == 0);
    const json records = json::parse(tuned.out)["records"];
    REQUIRE(records.size() == 2);
    for (const json& record : records) {
        const bool tensors = record["problem"].get<std::string>().find("value=f16") != std::string::npos;
        CHECK(record["time"]["cold"].contains("captured") == tensors);
        CHECK(record["time"]["cold"].contains("uniform") != tensors);
        CHECK((record["command"].get<std::string>().find("--capture") != std::string::npos) == tensors);
    }
    // The tensors are what --load reads, and one problem's directory is a capture of its own.
    const std::string one = records[0]["time"]["cold"].contains("captured")
                                ? captured + "/" + records[0]["shape"].get<std::string>()
                                : captured + "/" + records[1]["shape"].get<std::string>();
    CHECK(msda(msda::test::with_small_problem({"run", "--device", "cpu", "--dtype", "f16", "--load", one})).status ==
          0);
    const auto again = msda({"tune", "--capture", one, "--data", "captured,model", "--simulate", "--db", db, "--json"});
    REQUIRE(again.status == 0);
    CHECK(json::parse(again.out)["records"].size() == 1);
    CHECK(json::parse(again.out)["records"][0]["time"]["cold"].size() == 2);
    CHECK(msda({"tune", "rtdetr", "--capture", captured, "--simulate", "--db", db}).status == 2);
    CHECK(msda({"tune", "--capture", captured, "--data", "captured", "--simulate", "--db", db}).status == 2);
    CHECK(msda({"tune", "--capture", msda.path("missing"), "--simulate", "--db", db}).status == 10);
}

TEST_CASE("--total shares one time among all problems; --resume goes on with those that got none") {
    const Command msda;
    const std::string db = msda.path("db.json");
    const std::vector<std::string> all = {"tune",   "rtdetr",           "dfine",      "--dtype", "f16,bf16,f32",
                                          "--pass", "forward,backward", "--simulate", "--db",    db,
                                          "--json"};
    std::vector<std::string> words = all;
    words.insert(words.end(), {"--total", "3"});
    const auto first = msda(words);
    CAPTURE(first.err);
    const json result = json::parse(first.out);
    CHECK(result["seconds"] < 12.0);
    if (result["out_of_time"] > 0) {
        CHECK(first.status == 13);
        CHECK(first.err.find("--resume") != std::string::npos);
    }
    words = all;
    words.emplace_back("--resume");
    const auto second = msda(words);
    REQUIRE(second.status == 0);
    CHECK(shown(msda, db).size() == 12);
}

TEST_CASE("a common time is shared evenly, less what goes by beside the searches") {
    msda::cli::SharedTime alone(0, 30);
    CHECK(alone.share(100, 5000) == 30);
    msda::cli::SharedTime time(100, 30);
    CHECK(time.share(10, 0) == doctest::Approx(10));
    CHECK(time.share(2, 0) == 30);
    time.took(8, 6);
    CHECK(time.share(9, 10) == doctest::Approx(8));
    CHECK(time.share(1000, 10) == msda::cli::SharedTime::useful_search);  // some well, the rest another time
    CHECK(time.share(1, 99.9) < msda::cli::SharedTime::least_search);
}

TEST_CASE("report is one page that fetches nothing") {
    const Command msda;
    const std::string db = msda.path("db.json");
    REQUIRE(msda(simulated(db)).status == 0);
    REQUIRE(msda({"report", db, "-o", msda.path("report.html"), "--title", "<b>&"}).status == 0);
    const std::string page = msda::fakes::read_text(msda.path("report.html"));
    CHECK(page.find("<title>&lt;b&gt;&amp;</title>") != std::string::npos);
    CHECK(page.find("Cold against warm") != std::string::npos);
    CHECK(page.find("Speed-up over the default") != std::string::npos);
    CHECK(page.find("Time against unroll") != std::string::npos);
    for (const char* foreign : {"http:", "https:", "<script", "@import", "url("})
        CHECK(page.find(foreign) == std::string::npos);
}

TEST_CASE("export keeps what can be shipped: nothing simulated") {
    const Command msda;
    const std::string db = msda.path("db.json");
    REQUIRE(msda(simulated(db)).status == 0);
    REQUIRE(msda({"db", "export", db, "-o", msda.path("ship.json")}).status == 0);
    CHECK(shown(msda, msda.path("ship.json")).empty());
}

TEST_CASE("pack compiles for an architecture and lists what it holds") {
    const Command msda;
    const auto packed =
        msda({"pack", "--shape", "rtdetr,dfine", "--dtype", "f16", "--arch", "sm_90,sm_80", "-o", msda.path("a.pack")});
    if (packed.status == 5) {
        MESSAGE("skipped: no NVRTC here");
        return;
    }
    CAPTURE(packed.err);
    REQUIRE(packed.status == 0);
    const json pack = json::parse(msda({"pack", "--inspect", msda.path("a.pack"), "--json"}).out);
    REQUIRE(pack["kernels"].size() >= 4);
    for (const json& kernels : pack["kernels"]) {
        CHECK(kernels["format"] == "cubin");
        CHECK(kernels["bytes"] > 1000);
        CHECK_FALSE(kernels["kernels"].empty());
    }
    CHECK(msda({"pack"}).status == 2);
    CHECK(msda({"pack", "--inspect", msda.path("missing.pack")}).status == 10);
}

TEST_CASE("ticks are round numbers within the range") {
    CHECK(msda::cli::round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(msda::cli::round_ticks(3, 3, 5) == std::vector<double>{3});
    for (const double tick : msda::cli::round_ticks(0.013, 0.087, 4)) CHECK((tick >= 0.013 && tick <= 0.087));
}

TEST_SUITE_END();
