// Atomics instead of a condition variable: in the child of a fork, destroying a condition variable that the parent's
// thread waits on would wait forever.
#include "runtime/tier/worker.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/driver.hpp"

namespace msda {
namespace {

// Made when the first worker asks for it, so destroyed before whatever was loaded or made earlier.
class WorkersAtExit {
  public:
    ~WorkersAtExit() {
        for (const std::weak_ptr<Worker>& weak : workers_)
            if (const auto worker = weak.lock()) worker->stop();
    }
    void add(const std::shared_ptr<Worker>& worker) {
        const std::lock_guard lock(mutex_);
        std::erase_if(workers_, [](const auto& weak) { return weak.expired(); });
        const auto same = [&](const auto& weak) { return weak.lock() == worker; };
        if (std::none_of(workers_.begin(), workers_.end(), same)) workers_.push_back(worker);
    }

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<Worker>> workers_;
};

}  // namespace

Worker::Worker(std::shared_ptr<Bell> bell, std::function<void()> round)
    : bell_(std::move(bell)), round_(std::move(round)) {}

bool Worker::forked() const noexcept { return generation_.load(std::memory_order_relaxed) != fork_generation(); }

void Worker::start() {
    const std::lock_guard lock(mutex_);
    if (started_.load(std::memory_order_relaxed) || stopping()) return;
    generation_.store(fork_generation(), std::memory_order_relaxed);
    thread_ = std::thread([this] { run(); });
    started_.store(true, std::memory_order_release);
}

void Worker::run() noexcept {
    while (true) {
        const std::uint32_t heard = bell_->rung.load(std::memory_order_acquire);
        if (!stopping()) round_();
        const bool last = stopping();
        // The last answer differs from the one before in any case, so that whoever waits wakes and sees the end.
        answered_.store(last ? answered_.load(std::memory_order_relaxed) + 1 : heard, std::memory_order_release);
        answered_.notify_all();
        if (last) return;
        bell_->rung.wait(heard, std::memory_order_acquire);
    }
}

void Worker::settle() noexcept {
    if (!started_.load(std::memory_order_acquire) || forked()) return;
    const std::uint32_t rung = bell_->rung.load(std::memory_order_acquire);
    while (true) {
        const std::uint32_t answered = answered_.load(std::memory_order_acquire);
        // Counted modulo 2^32, as the rings are.
        if (static_cast<std::int32_t>(answered - rung) >= 0 || stopping()) return;
        answered_.wait(answered, std::memory_order_acquire);
    }
}

void Worker::stop() noexcept {
    if (forked() && started_.load(std::memory_order_acquire)) {
        if (thread_.joinable()) thread_.detach();  // the thread is the parent's; the lock may be held by it, too
        return;
    }
    stopping_.store(true, std::memory_order_relaxed);
    bell_->ring();
    const std::lock_guard lock(mutex_);
    if (thread_.joinable()) thread_.join();
}

void Worker::stop_at_exit(const std::shared_ptr<Worker>& worker) {
    static WorkersAtExit workers;
    workers.add(worker);
}

}  // namespace msda
