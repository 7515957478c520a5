// The search's first part: compiling, verifying and screening; the races are in search_races.cpp.
#include "runtime/tuner/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::size_t level_window = 5;  // default's samples behind its current level
constexpr int level_interval = 8;        // screening measurements between two of the default
constexpr std::size_t screen_samples = 3;
// Both first samples this much slower than the best: one 3× spike in 50 cannot do that, and noise of 5 % is far below.
const double hopeless = std::log(1.5);
constexpr int bad_times_allowed = 3;
constexpr std::size_t hills = 6;  // of the best, whose neighbours are tried

}  // namespace

std::string_view name(Fate fate) {
    switch (fate) {
        case Fate::waiting:
            return "waiting";
        case Fate::compiling:
            return "compiling";
        case Fate::ready:
            return "ready";
        case Fate::verified:
            return "verified";
        case Fate::screened:
            return "screened";
        case Fate::dropped:
            return "dropped";
        case Fate::duplicate:
            return "duplicate";
        case Fate::compile_failed:
            return "compile_failed";
        case Fate::wrong:
            return "wrong";
        case Fate::faulted:
            return "faulted";
        case Fate::no_time:
            return "no_time";
        case Fate::skipped:
            return "skipped";
    }
    return "unknown";
}

double objective(const Sample& sample) {
    double sum = 0;
    for (const double us : sample.us) {
        if (!std::isfinite(us) || us <= 0) return 0;
        sum += std::log(us);
    }
    return sample.us.empty() ? 0 : std::exp(sum / static_cast<double>(sample.us.size()));
}

std::vector<int> search_order(int candidates, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int> order(static_cast<std::size_t>(candidates));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 2; i--) std::swap(order[i - 1], order[1 + random() % (i - 1)]);
    return order;
}

Search::Search(int candidates, SearchSettings settings, NeighboursOf neighbours)
    : settings_(settings), candidates_(static_cast<std::size_t>(candidates)), neighbours_(std::move(neighbours)) {
    const std::vector<int> order = search_order(candidates, settings.seed);
    to_compile_.assign(order.begin(), order.end());
}

std::optional<int> Search::next_compile() {
    if (to_compile_.empty()) return std::nullopt;
    const bool explored = neighbours_ && explored_ >= settings_.explore;
    std::optional<int> candidate;
    if (explored || (neighbours_ && climb_next_)) candidate = next_neighbour();
    climb_next_ = !climb_next_;
    if (!candidate && explored) {
        // With nothing left in flight the best have no untried neighbour any more: that is the end of the climb.
        if (compiling_ == 0 && !next_screened()) to_compile_.clear();
        return std::nullopt;
    }
    if (!candidate) {
        candidate = to_compile_.front();
        explored_++;
    }
    std::erase(to_compile_, *candidate);
    candidates_[*candidate].fate = Fate::compiling;
    compiling_++;
    return candidate;
}

// The candidate that is being screened, else the first of those compiled, none of which has gone bad meanwhile.
std::optional<int> Search::next_screened() {
    if (screened_now_ && candidates_[*screened_now_].fate == Fate::verified) return screened_now_;
    while (!ready_.empty() && candidates_[ready_.front()].fate != Fate::ready) ready_.pop_front();
    return ready_.empty() ? std::nullopt : std::optional(ready_.front());
}

// An untried neighbour of one of the best screened so far, the best one's first. Several hills are climbed at once, so
// one lucky sample does not lead the whole search astray.
std::optional<int> Search::next_neighbour() {
    std::vector<std::pair<double, int>> best = {{0.0, 0}};
    for (const auto& [candidate, times] : screen_)
        if (candidates_[candidate].fate == Fate::screened) best.emplace_back(median(times), candidate);
    const std::size_t count = std::min(best.size(), hills);
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end());
    best.resize(count);
    for (const auto& [score, candidate] : best) {
        const auto [near, fresh] = near_.try_emplace(candidate);
        if (fresh) near->second = neighbours_(candidate);
        for (const int neighbour : near->second)
            if (candidates_[neighbour].fate == Fate::waiting) return neighbour;
    }
    return std::nullopt;
}

void Search::compiled(int candidate, const std::string& digest) {
    Candidate& c = candidates_[candidate];
    if (c.fate != Fate::compiling) return;  // screening is over
    compiling_--;
    c.digest = digest;
    const auto [at, fresh] = by_digest_.emplace(digest, candidate);
    if (fresh) {
        c.fate = Fate::ready;
        ready_.push_back(candidate);
    } else if (candidate != 0) {
        retire(candidate, Fate::duplicate, fmt::format("same code and launch as candidate {}", at->second));
    } else {
        // The default must run under its own number, so the twin that came first steps back.
        c.fate = Fate::ready;
        retire(at->second, Fate::duplicate, "same code and launch as the default");
        at->second = 0;
    }
}

void Search::compile_failed(int candidate, const std::string& why) {
    if (candidates_[candidate].fate != Fate::compiling) return;
    compiling_--;
    retire(candidate, Fate::compile_failed, why);
}

double Search::level() const {
    const std::vector<double> recent(default_levels_.begin(), default_levels_.end());
    return median(recent);
}

Action Search::next(double seconds) {
    if (stage_ != Stage::over && (candidates_[0].fate > Fate::dropped))
        finish(false, fmt::format("the default config failed: {}", candidates_[0].why));
    if (stage_ != Stage::over && seconds >= settings_.budget_s) finish(false, "the budget ended before the search");
    if (stage_ == Stage::over) return {Action::Kind::done};
    if (!warm_due_.empty()) return {Action::Kind::measure, warm_due_.front(), true};
    return stage_ == Stage::screening ? next_screening(seconds) : next_race(seconds);
}

Action Search::next_screening(double seconds) {
    const Candidate& first = candidates_[0];
    if (first.fate <= Fate::compiling) return {Action::Kind::wait};
    if (first.fate == Fate::ready) return {Action::Kind::verify, 0};
    if (!default_ready() || since_default_ >= level_interval) return {Action::Kind::measure, 0};

    const bool out_of_time = seconds >= settings_.budget_s / 2;
    const bool out_of_patience = settings_.patience > 0 && since_best_ >= settings_.patience;
    // One that is under way is finished before another begins, so that few modules are loaded at a time.
    if (const std::optional<int> next = next_screened()) {
        if (candidates_[*next].fate == Fate::verified) return {Action::Kind::measure, *next};
        if (!out_of_time && !out_of_patience) return {Action::Kind::verify, *next};
    } else if (!out_of_time && !out_of_patience && (compiling_ > 0 || !to_compile_.empty())) {
        return {Action::Kind::wait};
    }
    close_screening();
    return next_race(seconds);
}

void Search::verified(int candidate) {
    Candidate& c = candidates_[candidate];
    if (c.fate != Fate::ready) return;
    c.fate = Fate::verified;
    if (candidate != 0) screened_now_ = candidate;
}

void Search::wrong(int candidate, const std::string& why) { retire(candidate, Fate::wrong, why); }
void Search::faulted(int candidate, const std::string& why) { retire(candidate, Fate::faulted, why); }

void Search::retire(int candidate, Fate fate, const std::string& why) {
    candidates_[candidate].fate = fate;
    candidates_[candidate].why = why;
    screen_.erase(candidate);
    std::erase(warm_due_, candidate);
    if (race_ && race_->holds(candidate)) race_->remove(candidate);
}

void Search::measured(int candidate, bool warm, const Sample& sample) {
    Candidate& c = candidates_[candidate];
    if (c.fate > Fate::dropped) return;
    if (!clocks_.accepts(sample.sm_mhz)) return;  // throttled: next() asks for the same again
    const double us = objective(sample);
    if (!(us > 0)) {
        if (++c.bad_times >= bad_times_allowed)
            retire(candidate, Fate::no_time,
                   fmt::format("{} samples held a time that is no positive number", c.bad_times));
        return;
    }
    if (warm) {
        c.warm.push_back(sample);
        if (!warm_due_.empty() && warm_due_.front() == candidate) warm_due_.pop_front();
        return;
    }
    c.cold.push_back(sample);
    if (stage_ == Stage::screening)
        screen(candidate, std::log(us));
    else if (race_ && race_->holds(candidate) && race_->next() == candidate) {
        race_->record(std::log(us));
        if (stage_ == Stage::final && race_->runs(candidate) % 8 == 1) warm_due_.push_back(candidate);
    }
}

void Search::screen(int candidate, double log_time) {
    Candidate& c = candidates_[candidate];
    if (candidate == 0) {
        default_levels_.push_back(log_time);
        if (default_levels_.size() > level_window) default_levels_.pop_front();
        since_default_ = 0;
        if (c.cold.size() == 1) warm_due_.push_back(0);
        return;
    }
    since_default_++;
    std::vector<double>& times = screen_[candidate];
    times.push_back(log_time - level());
    if (times.size() == 2 && std::ranges::min(times) > best_screen_ + hopeless) {
        c.fate = Fate::dropped;
        since_best_++;
    } else if (times.size() >= screen_samples) {
        c.fate = Fate::screened;
        const double score = median(times);
        since_best_ = score < best_screen_ ? 0 : since_best_ + 1;
        best_screen_ = std::min(best_screen_, score);
    } else {
        return;
    }
    warm_due_.push_back(candidate);  // one warm figure of everything that runs, for the report
}

}  // namespace msda
