// The loop between search, compile threads and track.
#include "runtime/tuner/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "generator/plan.hpp"
#include "msda/error.hpp"
#include "runtime/digest.hpp"
#include "runtime/tuner/neighbours.hpp"
#include "runtime/tuner/outcome.hpp"

namespace msda {
namespace {

using Clock = std::chrono::steady_clock;

// Two candidates are one when machine code and every launch number agree; names and texts of the source do not matter.
std::string code_digest(const Problem& problem, const Config& config, const Binary& binary) {
    Digest digest;
    digest.add(binary.bytes);
    const Plan steps = plan(problem, config);
    for (const Step& step : steps.steps) {
        digest.add(step.kernel).add(step.threads).add(static_cast<std::int64_t>(step.shared_bytes));
        for (const std::uint32_t extent : step.grid) digest.add(static_cast<std::int64_t>(extent));
        digest.add(static_cast<std::int64_t>(step.bytes));
    }
    digest.add(std::string_view(reinterpret_cast<const char*>(steps.shape.data()), steps.shape.size()));
    return digest.hex();
}

// The running search of one problem. The search itself is guarded by `mutex_`; the track belongs to the calling thread.
class Run {
  public:
    Run(const TuneRequest& request, std::vector<Config> candidates, Track& track, const CompileCandidate& compile)
        : request_(request),
          candidates_(std::move(candidates)),
          track_(track),
          compile_(compile),
          neighbours_(candidates_),
          search_(static_cast<int>(candidates_.size()), request.search,
                  [this](int candidate) { return neighbours_.of(candidate); }),
          binaries_(candidates_.size()) {}

    TuneOutcome operator()() {
        std::vector<std::jthread> compilers;
        const unsigned spare = std::max(2u, std::thread::hardware_concurrency()) - 1;
        const unsigned threads = request_.compile_threads > 0 ? static_cast<unsigned>(request_.compile_threads) : spare;
        for (unsigned i = 0; i < std::min<unsigned>(threads, static_cast<unsigned>(candidates_.size())); i++)
            compilers.emplace_back([this] { compile_loop(); });
        try {
            track_.open(request_.problem, request_.track);  // while the first candidates compile
            opened_s_ = seconds();
            start_ = Clock::now();  // the budget is for searching; inputs and reference are made once whatever it is
            device_loop();
        } catch (...) {
            end_compiling();
            throw;
        }
        end_compiling();
        compilers.clear();
        // A device that is lost ends the search like a signal: what was measured is kept, unless nothing was.
        if (lost_ && search_.candidates().front().cold.empty()) throw *lost_;
        if (!lost_)
            for (const int candidate : loaded_) track_.unload(candidate);
        TuneOutcome outcome = outcome_of(request_, candidates_, search_, stop_asked(), track_.memory_mhz(), seconds());
        outcome.opened_s = opened_s_;
        outcome.waited_s = waited_s_;
        if (lost_) outcome.why = fmt::format("the device was lost: {}", lost_->what());
        return outcome;
    }

  private:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    bool stop_asked() const { return request_.stop && *request_.stop; }

    void end_compiling() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        work_.notify_all();
    }

    void compile_loop() {
        std::unique_lock lock(mutex_);
        while (!over_ && !stop_asked()) {
            const std::optional<int> candidate = search_.next_compile();
            if (!candidate && search_.no_more_compiles()) return;
            if (!candidate) {
                work_.wait_for(lock, std::chrono::milliseconds(50));
                continue;
            }
            const auto index = static_cast<std::size_t>(*candidate);
            lock.unlock();
            std::string failure;
            std::string digest;
            Binary binary;
            try {
                binary = compile_(candidates_[index]);
                digest = code_digest(request_.problem, candidates_[index], binary);
            } catch (const std::exception& error) {
                failure = error.what();
            }
            lock.lock();
            binaries_[index] = std::move(binary);
            if (failure.empty())
                search_.compiled(*candidate, digest);
            else
                search_.compile_failed(*candidate, failure);
            news_.notify_one();
        }
    }

    void device_loop() {
        std::unique_lock lock(mutex_);
        while (!stop_asked() && !lost_) {
            report_progress();
            const Action action = search_.next(seconds());
            if (action.kind == Action::Kind::done) return;
            if (action.kind == Action::Kind::wait) {
                const double before = seconds();
                news_.wait_for(lock, std::chrono::milliseconds(50));
                waited_s_ += seconds() - before;
                continue;
            }
            perform(action, lock);
            work_.notify_all();
        }
    }

    // Device work runs without the lock, so that compile threads go on meanwhile.
    void perform(const Action& action, std::unique_lock<std::mutex>& lock) {
        const int candidate = action.candidate;
        lock.unlock();
        std::string fault;
        std::string complaint;
        Sample sample;
        try {
            fault = ensure_loaded(candidate);
            const bool loaded = fault.empty();
            if (loaded && action.kind == Action::Kind::verify) complaint = track_.verify(candidate);
            if (loaded && action.kind == Action::Kind::measure) sample = track_.measure(candidate, action.warm);
        } catch (const DeviceFault& error) {
            fault = error.what();
            loaded_.clear();
        } catch (const Error& error) {
            lost_ = error;
        }
        lock.lock();
        if (lost_) return;
        if (!fault.empty())
            search_.faulted(candidate, fault);
        else if (action.kind == Action::Kind::measure)
            search_.measured(candidate, action.warm, sample);
        else if (complaint.empty())
            search_.verified(candidate);
        else
            search_.wrong(candidate, complaint);
    }

    // Keeps the candidates used last; the rest is unloaded, so that no number of candidates fills the device. Returns
    // why the driver would not load it, or nothing.
    std::string ensure_loaded(int candidate) {
        const auto at = std::ranges::find(loaded_, candidate);
        if (at != loaded_.end()) {
            loaded_.erase(at);
        } else {
            if (loaded_.size() >= request_.most_loaded) {
                track_.unload(loaded_.front());
                loaded_.pop_front();
            }
            const auto index = static_cast<std::size_t>(candidate);
            try {
                track_.load(candidate, candidates_[index], binaries_[index]);
            } catch (const Error& error) {
                return fmt::format("cannot be loaded: {}", error.what());
            }
        }
        loaded_.push_back(candidate);
        return {};
    }

    void report_progress() {
        const double now = seconds();
        if (!request_.progress || now < next_progress_) return;
        next_progress_ = now + 0.2;
        TuneProgress progress;
        progress.done = search_.progress(now);
        progress.candidates = static_cast<int>(candidates_.size());
        for (const Candidate& c : search_.candidates()) progress.settled += c.fate > Fate::verified;
        progress.speedup = 1 / search_.leader().second;
        request_.progress(progress);
    }

    const TuneRequest& request_;
    const std::vector<Config> candidates_;
    Track& track_;
    const CompileCandidate& compile_;
    std::mutex mutex_;
    std::condition_variable news_;  // something was compiled
    std::condition_variable work_;  // something may be there to compile
    const Neighbours neighbours_;
    Search search_;
    bool over_ = false;
    std::optional<Error> lost_;     // why the device cannot be used any more
    std::vector<Binary> binaries_;  // written under the lock before the search knows of them, then only read
    std::deque<int> loaded_;        // used last at the back
    Clock::time_point start_ = Clock::now();
    double opened_s_ = 0;
    double waited_s_ = 0;
    double next_progress_ = 0;
};

}  // namespace

TuneOutcome tune(const TuneRequest& request, Track& track, const CompileCandidate& compile) {
    std::vector<Config> candidates =
        request.candidates.empty() ? space(request.problem, request.silicon) : request.candidates;
    if (candidates.empty() || request.problem.empty())
        throw Error(Code::invalid_argument, fmt::format("nothing to tune: the problem is empty or has no config: {}",
                                                        canonical(request.problem)));
    return Run(request, std::move(candidates), track, compile)();
}

}  // namespace msda
