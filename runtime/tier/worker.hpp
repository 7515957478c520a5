// A background thread that works in rounds whenever its bell rings, and that ends cleanly with its owner, with the
// process and in the child of a fork.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace msda {

// Rung by whoever has work, from any thread: neither waits nor allocates. May outlive the worker.
struct Bell {
    std::atomic<std::uint32_t> rung{0};
    void ring() noexcept {
        rung.fetch_add(1, std::memory_order_acq_rel);
        rung.notify_one();
    }
};

class Worker {
  public:
    // `round` does all the work there is, asking stopping() in between, and returns; it must not throw. Nothing runs
    // before start().
    Worker(std::shared_ptr<Bell> bell, std::function<void()> round);
    ~Worker() { stop(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Starts the thread unless it was started, or stopped, before. Throws std::system_error when the system gives none.
    void start();

    // Waits until everything that was rung for before this call is done, or the worker is stopped.
    void settle() noexcept;

    // Waits for the piece of work in progress and ends the thread, for good. In the child of a fork there is no thread
    // to end.
    void stop() noexcept;
    bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

    // Has `worker` stopped at the end of the process, before the libraries that are loaded by now are taken down: what
    // runs in them must not outlive them. Called once they are loaded; more than once does no harm.
    static void stop_at_exit(const std::shared_ptr<Worker>& worker);

  private:
    void run() noexcept;
    bool forked() const noexcept;

    const std::shared_ptr<Bell> bell_;
    const std::function<void()> round_;
    std::atomic<std::uint32_t> answered_{0};  // the last ring whose round is over
    std::atomic<bool> started_{false}, stopping_{false};
    std::atomic<unsigned> generation_{0};  // of the process that started the thread
    std::mutex mutex_;                     // of the thread object
    std::thread thread_;
};

}  // namespace msda
