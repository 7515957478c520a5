// posix_spawn and pipes.
#include "runtime/tuner/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "msda/error.hpp"

extern char** environ;

namespace msda {

bool LineReader::fill(std::optional<std::chrono::milliseconds> limit) {
    if (limit) {
        pollfd waiting{descriptor_, POLLIN, 0};
        const auto deadline = std::chrono::steady_clock::now() + *limit;
        int ready = -1;
        do {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            ready = poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        } while (ready < 0 && errno == EINTR);
        timed_out_ = ready == 0;
        if (ready <= 0) return false;
    }
    std::array<char, 1 << 16> chunk;
    ssize_t count = -1;
    do count = read(descriptor_, chunk.data(), chunk.size());
    while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
    return true;
}

std::optional<std::string> LineReader::line(std::optional<std::chrono::milliseconds> limit) {
    std::size_t end = buffer_.find('\n');
    while (end == std::string::npos) {
        const std::size_t searched = buffer_.size();
        if (!fill(limit)) return std::nullopt;
        end = buffer_.find('\n', searched);
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
}

std::optional<std::string> LineReader::bytes(std::size_t count) {
    while (buffer_.size() < count)
        if (!fill(std::nullopt)) return std::nullopt;
    std::string bytes = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return bytes;
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        // Sockets report a closed end without raising SIGPIPE, which would kill an application that tunes.
        ssize_t count = send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == ENOTSOCK) count = write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw Error(Code::io_failed, fmt::format("cannot make a socket pair: {}", std::strerror(errno)));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    to_child_ = from_child_ = ends[0];
    if (error == 0) return;
    close(ends[0]);
    throw Error(Code::io_failed, fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
}

ChildProcess::~ChildProcess() { end(true); }

std::string ChildProcess::end(bool kill_first) {
    if (pid_ < 0) return "ended before";
    if (kill_first) kill(pid_, SIGKILL);
    close(to_child_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (WIFSIGNALED(status))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("exited with code {}", WEXITSTATUS(status));
}

}  // namespace msda
