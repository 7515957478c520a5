// A shared counter hands out chunks; the calling thread is worker 0.
#include "runtime/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace msda {

int thread_count(int wanted) {
    if (wanted > 0) return wanted;
    // glibc reads a file for it at each call: 8 µs, more than the rest of a small launch.
    static const int of_machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return of_machine;
}

void parallel_for(int threads, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t, int)>& body) {
    if (count <= 0) return;
    grain = std::max<std::int64_t>(grain, 1);
    std::atomic<std::int64_t> next{0};
    std::mutex failure_lock;
    std::exception_ptr failure;
    const auto work = [&](int worker) noexcept {
        try {
            for (;;) {
                const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
                if (begin >= count) return;
                body(begin, std::min(count, begin + grain), worker);
            }
        } catch (...) {
            next.store(count, std::memory_order_relaxed);
            const std::lock_guard lock(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };
    const std::int64_t chunks = (count - 1) / grain + 1;
    const int workers = static_cast<int>(std::min<std::int64_t>(std::max(threads, 1), chunks));
    {
        std::vector<std::jthread> team;
        team.reserve(static_cast<std::size_t>(workers - 1));
        try {
            for (int worker = 1; worker < workers; worker++) team.emplace_back(work, worker);
        } catch (const std::system_error&) {
            // Out of threads: those that started, and this one, do all the work.
        }
        work(0);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace msda
