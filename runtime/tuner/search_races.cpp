// The search's second part: two heats, the final, and the answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "msda/error.hpp"
#include "runtime/tuner/search.hpp"

namespace msda {
namespace {

// Screening errs by about 5 % (three samples of 5 % noise and the default's level), a heat of 8 rounds by 2 %, one of
// 16 by 1.5 %: each keeps about as many as can hide the best behind such an error, and no more, since rounds cost
// device time.
constexpr std::size_t first_heat_size = 24;
constexpr std::size_t second_heat_size = 12;
constexpr std::size_t final_size = 6;
constexpr int first_heat_rounds = 8;
constexpr int second_heat_rounds = 16;
constexpr int final_block = 8;        // rounds between two judgements of the final
constexpr int shortest_final = 32;    // rounds; below, the error itself is uncertain
constexpr double sure = 2.5;          // standard errors, to drop a finalist
constexpr double beyond_doubt = 4.0;  // standard errors, to dethrone the default: the final looks up to 50 times
constexpr double alike = 0.004;       // finalists this sure to be within that of each other need no more rounds

}  // namespace

void Search::close_screening() {
    for (int i = 1; i < static_cast<int>(candidates_.size()); i++)
        if (const Fate fate = candidates_[i].fate; fate <= Fate::verified)
            retire(i, Fate::skipped, "screening ended before its turn");
    to_compile_.clear();
    std::vector<int> order;
    for (const auto& [candidate, times] : screen_)
        if (candidates_[candidate].fate == Fate::screened) order.push_back(candidate);
    std::ranges::stable_sort(order, {}, [this](int candidate) { return median(screen_[candidate]); });
    start_race(std::move(order), first_heat_size, Stage::first_heat);
}

// Starts a stage with the default and the first `keep` of the others, given best first.
void Search::start_race(std::vector<int> order, std::size_t keep, Stage stage) {
    std::erase(order, 0);
    if (order.size() > keep) order.resize(keep);
    order.insert(order.begin(), 0);
    race_start_.clear();
    for (const int candidate : order) race_start_[candidate] = static_cast<int>(candidates_[candidate].cold.size());
    race_.emplace(order, settings_.seed * 31 + static_cast<std::uint64_t>(stage));
    stage_ = stage;
}

Action Search::next_race(double seconds) {
    if (race_->entrants().size() < 2)
        finish(true, "no other config came as far as the races");
    else if (race_->at_round_start()) {
        const bool late = seconds >= 0.75 * settings_.budget_s;
        if (stage_ == Stage::first_heat && (late || race_->rounds() >= first_heat_rounds))
            start_race(race_->ranked(), second_heat_size, Stage::second_heat);
        if (stage_ == Stage::second_heat && (late || race_->rounds() >= second_heat_rounds))
            start_race(race_->ranked(), final_size, Stage::final);
        if (stage_ == Stage::final && race_->rounds() >= shortest_final && race_->rounds() % final_block == 0)
            judge_final();
    }
    if (stage_ == Stage::over) return {Action::Kind::done};
    return {Action::Kind::measure, race_->next()};
}

// Ends the final when the leader is settled, both among the others and against the default; drops who cannot win any
// more.
void Search::judge_final() {
    const int first = race_->ranked().front();
    const int leader = first ? first : race_->ranked()[1];
    bool settled = true;
    for (const int other : std::vector<int>(race_->entrants())) {
        if (other == 0 || other == leader) continue;
        const Location behind = race_->compare(other, leader);
        if (behind.center > sure * behind.error)
            race_->remove(other);
        else
            settled &= behind.error < alike;
    }
    const Location gain = race_->compare(leader, 0);
    const double margin = -std::log1p(settings_.margin);
    const bool clearly_faster = gain.center < margin && gain.center + beyond_doubt * gain.error < 0;
    const bool clearly_not = gain.center - sure * gain.error > margin;
    if (clearly_not || (clearly_faster && settled) || race_->rounds() >= settings_.longest_final)
        finish(true, fmt::format("{} after {} rounds of the final",
                                 clearly_faster ? "ahead" : "no gain over the default", race_->rounds()));
}

void Search::finish(bool complete, const std::string& why) {
    for (int i = 1; i < static_cast<int>(candidates_.size()); i++)
        if (candidates_[i].fate <= Fate::verified) retire(i, Fate::skipped, "the search ended before its turn");
    stage_ = Stage::over;
    complete_ = complete;
    why_ = why;
    to_compile_.clear();
    warm_due_.clear();
}

std::pair<int, double> Search::leader() const {
    if (race_ && race_->rounds() > 0 && race_->entrants().size() > 1) {
        const int first = race_->ranked().front();
        return {first, first ? std::exp(race_->compare(first, 0).center) : 1.0};
    }
    int best = 0;
    double score = 0;
    for (const auto& [candidate, times] : screen_)
        if (candidates_[candidate].fate == Fate::screened && median(times) < score) {
            best = candidate;
            score = median(times);
        }
    return {best, std::exp(score)};
}

SearchResult Search::result() const {
    if (candidates_[0].fate > Fate::dropped)
        throw Error(Code::verify_failed, fmt::format("the default config failed: {}", candidates_[0].why));
    SearchResult result{0, complete_, why_, 0, 0};
    if (why_.empty()) result.why = "stopped before its end";
    if (!race_) return result;
    const auto start = [this](int candidate) {
        const auto at = race_start_.find(candidate);
        return at == race_start_.end() ? 0 : at->second;
    };
    result.first_sample = result.default_first_sample = start(0);
    for (const int leader : race_->ranked()) {
        if (leader == 0 || race_->runs(leader) < first_heat_rounds) continue;
        const Location gain = race_->compare(leader, 0);
        if (gain.center >= -std::log1p(settings_.margin) || gain.center + beyond_doubt * gain.error >= 0) break;
        result.winner = leader;
        result.first_sample = start(leader);
        break;
    }
    return result;
}

double Search::progress(double seconds) const {
    const double by_time = seconds / settings_.budget_s;
    double done = 0;
    if (stage_ == Stage::screening) {
        const auto settled =
            std::ranges::count_if(candidates_, [](const Candidate& c) { return c.fate > Fate::verified; });
        done = 0.6 * static_cast<double>(settled) / static_cast<double>(candidates_.size());
    } else {
        done = stage_ == Stage::over ? 1 : 0.5 + 0.1 * static_cast<double>(stage_);
    }
    return std::clamp(std::max(done, by_time), 0.0, 1.0);
}

}  // namespace msda
