// Time left is extrapolated from the mean so far.
#include "tools/cli/progress.hpp"

#include <fmt/format.h>

namespace msda::cli {

Progress::Progress(const Session& session, std::string what, std::size_t total)
    : session_(session), what_(std::move(what)), total_(total), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
    if (session_.terminal() && done_ > 0) session_.err() << "\r\033[K" << std::flush;
}

void Progress::step(const std::string& label) {
    const std::lock_guard lock(mutex_);
    done_++;
    if (!session_.terminal()) return;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double left = elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    session_.err() << fmt::format("\r\033[K{} {}/{}, {:.0f} s left: {}", what_, done_, total_, left, label)
                   << std::flush;
}

}  // namespace msda::cli
