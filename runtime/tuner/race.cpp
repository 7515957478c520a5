// Rounds and paired comparison of a race.
#include "runtime/tuner/race.hpp"

#include <algorithm>

namespace msda {

Race::Race(std::vector<int> entrants, std::uint64_t seed) : entrants_(std::move(entrants)), random_(seed) {
    begin_round();
}

// Fisher-Yates with our own reduction: std::shuffle's draws differ between standard libraries, a search's order must
// not.
void Race::begin_round() {
    order_ = entrants_;
    for (std::size_t i = order_.size(); i > 1; i--) std::swap(order_[i - 1], order_[random_() % i]);
    place_ = 0;
}

void Race::advance() {
    if (++place_ < order_.size()) return;
    round_++;
    begin_round();
}

void Race::record(double log_time) {
    times_[next()][round_] = log_time;
    advance();
}

void Race::miss() { advance(); }

void Race::remove(int entrant) {
    std::erase(entrants_, entrant);
    const auto at = std::ranges::find(order_, entrant);
    if (at == order_.end()) return;
    const auto place = static_cast<std::size_t>(at - order_.begin());
    order_.erase(at);
    if (place < place_) place_--;
    if (place_ >= order_.size() && !entrants_.empty()) {
        round_++;
        begin_round();
    }
}

bool Race::holds(int entrant) const { return std::ranges::find(entrants_, entrant) != entrants_.end(); }

int Race::runs(int entrant) const {
    const auto at = times_.find(entrant);
    return at == times_.end() ? 0 : static_cast<int>(at->second.size());
}

Location Race::compare(int a, int b) const {
    std::vector<double> differences;
    const auto first = times_.find(a);
    const auto second = times_.find(b);
    if (first != times_.end() && second != times_.end())
        for (const auto& [round, time] : first->second)
            if (const auto other = second->second.find(round); other != second->second.end())
                differences.push_back(time - other->second);
    return middle_mean(differences);
}

std::vector<int> Race::ranked() const {
    std::map<int, std::pair<int, double>> standing;  // losses, sum of differences
    for (const int a : entrants_)
        for (const int b : entrants_) {
            if (a == b) continue;
            const double difference = compare(a, b).center;
            standing[a].first += difference >= 0;
            standing[a].second += difference;
        }
    std::vector<int> order = entrants_;
    std::ranges::stable_sort(order, [&](int a, int b) { return standing[a] < standing[b]; });
    return order;
}

}  // namespace msda
