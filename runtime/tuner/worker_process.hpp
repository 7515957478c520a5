// A child process with a socket to its stdin and from its stdout.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msda {

// Reads whole lines and counted bytes from a descriptor, which it does not own.
class LineReader {
  public:
    explicit LineReader(int descriptor) : descriptor_(descriptor) {}

    // The next line without its end; nothing at the end of input. With a limit in time: nothing, and timed_out(), once
    // it has passed.
    std::optional<std::string> line(std::optional<std::chrono::milliseconds> limit = std::nullopt);
    // Exactly `count` bytes; nothing when the input ends before.
    std::optional<std::string> bytes(std::size_t count);
    bool timed_out() const { return timed_out_; }

  private:
    bool fill(std::optional<std::chrono::milliseconds> limit);

    int descriptor_;
    std::string buffer_;
    bool timed_out_ = false;
};

// Writes everything, through EINTR and short writes; false when the other end is gone. Raises no SIGPIPE on sockets,
// which ChildProcess uses.
bool write_all(int descriptor, std::string_view bytes);

// A running child; killed and waited for when destroyed.
class ChildProcess {
  public:
    // Starts a program found as execvp does. Throws Error(io_failed).
    explicit ChildProcess(const std::vector<std::string>& command);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    int input() const { return to_child_; }
    int output() const { return from_child_; }

    // Waits for the end, killing it first if asked; "exited with code 3", "was killed by signal 11 (Segmentation
    // fault)".
    std::string end(bool kill);

  private:
    pid_t pid_ = -1;
    int to_child_ = -1;
    int from_child_ = -1;
};

}  // namespace msda
