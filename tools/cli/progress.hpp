// How far a long command is and how long it may still take, on stderr when people watch it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "tools/cli/session.hpp"

namespace msda::cli {

// One line, rewritten in place and removed by the destructor; silent when stderr is no terminal. Thread-safe.
class Progress {
  public:
    Progress(const Session& session, std::string what, std::size_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // One of the `total` is done; `label` says what comes next or was just done.
    void step(const std::string& label);

  private:
    const Session& session_;
    std::string what_;
    std::size_t total_;
    std::size_t done_ = 0;
    std::chrono::steady_clock::time_point start_;
    std::mutex mutex_;
};

}  // namespace msda::cli
