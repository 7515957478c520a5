// posix_spawn with both outputs in unlinked temporary files: no pipe to drain, so no deadlock.
#include "tools/cli/process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "msda/error.hpp"

extern char** environ;

namespace msda::cli {
namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

File temporary_file() {
    File file(std::tmpfile());
    if (!file) throw Error(Code::io_failed, fmt::format("temporary file: {}", std::strerror(errno)));
    return file;
}

std::string content(std::FILE* file) {
    std::string text;
    std::rewind(file);
    char block[65536];
    while (const std::size_t got = std::fread(block, 1, sizeof block, file)) text.append(block, got);
    return text;
}

std::vector<std::string> merged(const std::vector<std::pair<std::string, std::string>>& changes) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; entry++) {
        const std::string_view text = *entry;
        const auto same = [&](const auto& change) { return text.starts_with(change.first + "="); };
        if (!std::ranges::any_of(changes, same)) all.emplace_back(text);
    }
    for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment) {
    const File out = temporary_file(), err = temporary_file();
    std::vector<std::string> words = arguments, variables = merged(environment);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
    pid_t child = 0;
    const int failure = posix_spawnp(&child, words.front().c_str(), &actions, nullptr, pointers(words).data(),
                                     pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        throw Error(Code::io_failed,
                    fmt::format("{}: cannot be started: {}", arguments.front(), std::strerror(failure)));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ProcessResult result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = content(out.get());
    result.err = content(err.get());
    return result;
}

}  // namespace msda::cli
