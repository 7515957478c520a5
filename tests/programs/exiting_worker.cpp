// main() returns while a Worker that is never destroyed is at work. Exits 0 if the work was waited for, and ended
// before what was made earlier (as a library's own state would be) was taken down.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "runtime/tier/worker.hpp"

namespace {

std::atomic<bool> begun{false}, ended{false};

struct Library {
    ~Library() {
        if (!ended) ::_exit(1);
    }
};

}  // namespace

int main() {
    static const Library library;
    const auto bell = std::make_shared<msda::Bell>();
    static auto& worker = *new std::shared_ptr<msda::Worker>;
    worker = std::make_shared<msda::Worker>(bell, [] {
        msda::Worker::stop_at_exit(worker);
        begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ended = true;
    });
    worker->start();
    while (!begun) std::this_thread::yield();
    return 0;
}
