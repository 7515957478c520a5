// Compiles the first candidates of a problem before its search begins: while the search before it races its finalists,
// the GPU is busy and the host is not.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/tuner/tune.hpp"

namespace msda {

class CompileAhead {
  public:
    // Compiles `configs` in their order on `threads` threads, which run only where nothing else wants the processor.
    CompileAhead(CompileCandidate compile, std::vector<Config> configs, int threads);
    // Waits for what is under way and starts no more.
    ~CompileAhead();
    CompileAhead(const CompileAhead&) = delete;
    CompileAhead& operator=(const CompileAhead&) = delete;

    // The config's code, handed out once: compiled before, awaited, or compiled here and now. From the first call on
    // nothing more is begun ahead. Safe to call from many threads. Throws what `compile` threw.
    Binary operator()(const Config& config);

  private:
    struct Entry {
        bool done = false;
        Binary binary;
        std::exception_ptr failure;
    };
    void work();

    const CompileCandidate compile_;
    const std::vector<Config> configs_;
    std::mutex mutex_;
    std::condition_variable finished_;
    std::size_t next_ = 0;
    std::map<std::string, Entry> entries_;  // by canonical config; those begun and not handed out
    std::vector<std::jthread> threads_;     // last: they end before what they use
};

}  // namespace msda
