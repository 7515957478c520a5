#include "tools/lab/isolated.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "msda/error.hpp"

namespace msda::lab {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Verdict judge(Check check, Attempt& attempt) {
    Verdict verdict{State::passed, "", "", {}};
    try {
        check(attempt);
    } catch (const Failed& failed) {
        verdict.state = State::failed;
        verdict.message = failed.what();
    } catch (const Skipped& skipped) {
        verdict.state = State::skipped;
        verdict.message = skipped.what();
    } catch (const Error& error) {
        verdict.state = State::failed;
        verdict.message = error.what();
        verdict.log = error.log();
    } catch (const std::exception& error) {
        verdict.state = State::failed;
        verdict.message = error.what();
    }
    verdict.notes = attempt.notes;
    return verdict;
}

// In the child: the verdict as JSON, then the end without any destructor.
[[noreturn]] void report(const Verdict& verdict, std::FILE* file) {
    const nlohmann::json json = {{"state", static_cast<int>(verdict.state)},
                                 {"message", verdict.message},
                                 {"log", verdict.log},
                                 {"notes", verdict.notes}};
    const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(nullptr);
    _exit(0);
}

Verdict ended_badly(int status, int limit_s) {
    Verdict verdict{State::failed, "", "", {}};
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGXCPU || signal == SIGKILL)
        verdict.message = fmt::format("took more than {} s of processor time; does a loop never stop?", limit_s);
    else if (signal == SIGSEGV || signal == SIGBUS)
        verdict.message = "crashed (segmentation fault); an address leads outside of its tensor";
    else if (signal == SIGFPE)
        verdict.message = "crashed (arithmetic); an integer is divided by zero";
    else
        verdict.message = fmt::format("ended by itself ({} {})", signal != 0 ? "signal" : "exit status",
                                      signal != 0 ? signal : WEXITSTATUS(status));
    return verdict;
}

Verdict read_verdict(std::FILE* file, int status, int limit_s) {
    std::string text;
    std::rewind(file);
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return ended_badly(status, limit_s);
    return {static_cast<State>(json.at("state").get<int>()), json.at("message").get<std::string>(),
            json.at("log").get<std::string>(), json.at("notes").get<std::vector<std::string>>()};
}

}  // namespace

Verdict run_isolated(Check check, Attempt& attempt, int limit_s) {
    const File file(std::tmpfile(), std::fclose);
    if (!file) throw Error(Code::io_failed, fmt::format("labs: temporary file: {}", std::strerror(errno)));
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw Error(Code::io_failed, fmt::format("labs: cannot start a process: {}", std::strerror(errno)));
    if (child == 0) {
        const rlimit limit{static_cast<rlim_t>(limit_s), static_cast<rlim_t>(limit_s)};
        setrlimit(RLIMIT_CPU, &limit);
        report(judge(check, attempt), file.get());
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) throw Error(Code::io_failed, fmt::format("labs: waiting: {}", std::strerror(errno)));
    return read_verdict(file.get(), status, limit_s);
}

}  // namespace msda::lab
