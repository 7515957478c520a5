#include "runtime/tuner/compile_ahead.hpp"

#include <pthread.h>
#include <sched.h>

namespace msda {
namespace {

// SCHED_IDLE: a thread of the search that measures now is never kept waiting. Where it is refused the threads compete,
// which costs time and nothing else.
void yield_to_all() {
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
}

}  // namespace

CompileAhead::CompileAhead(CompileCandidate compile, std::vector<Config> configs, int threads)
    : compile_(std::move(compile)), configs_(std::move(configs)) {
    for (int i = 0; i < threads; i++)
        threads_.emplace_back([this] {
            yield_to_all();
            work();
        });
}

CompileAhead::~CompileAhead() {
    const std::lock_guard lock(mutex_);
    next_ = configs_.size();
}

void CompileAhead::work() {
    std::unique_lock lock(mutex_);
    while (next_ < configs_.size()) {
        const Config& config = configs_[next_++];
        Entry& entry = entries_[canonical(config)];  // stays in place until it is done
        lock.unlock();
        Binary binary;
        std::exception_ptr failure;
        try {
            binary = compile_(config);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        entry = {true, std::move(binary), failure};
        finished_.notify_all();
    }
}

Binary CompileAhead::operator()(const Config& config) {
    std::unique_lock lock(mutex_);
    next_ = configs_.size();
    const auto at = entries_.find(canonical(config));
    if (at == entries_.end()) {
        lock.unlock();
        return compile_(config);
    }
    finished_.wait(lock, [&] { return at->second.done; });
    const Entry entry = std::move(at->second);
    entries_.erase(at);
    if (entry.failure) std::rethrow_exception(entry.failure);
    return entry.binary;
}

}  // namespace msda
