// Lookup of a config, most specific first; every tie is broken by the records' own order so that all nodes agree.
#include "tuning_db/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "msda/error.hpp"
#include "tuning_db/check.hpp"
#include "tuning_db/family.hpp"

namespace msda {
namespace {

// A config tuned for a problem some three times smaller or larger says less than the heuristic, which sees the actual
// size and knows where one form takes over from another (9600 queries on an 800 × 1333 image by the config of 1100: 363
// µs, and 272 for twice as many by the heuristic).
constexpr double farthest = 1.5;

bool wants_heuristic(const Problem& problem) {
    return problem.pass == Pass::backward && problem.accumulate == Accumulate::deterministic;
}

// Another chip of the same capability: a GPU with other SM count or a partition, but nothing simulated for a real one.
bool same_family(const SiliconKey& a, const SiliconKey& b) {
    return a.capability == b.capability && (a.partition == simulated_partition) == (b.partition == simulated_partition);
}

double sm_distance(const SiliconKey& a, const SiliconKey& b) {
    return std::abs(std::log2(std::max(a.sm_count, 1)) - std::log2(std::max(b.sm_count, 1)));
}

// The record, or nothing with the reason in `why`.
std::optional<Record> read(const StoredRecord& stored, std::string& why) {
    try {
        return stored.record();
    } catch (const Error& error) {
        why = error.what();
        return std::nullopt;
    }
}

// The order of better(), with those that could not be read behind all others.
bool comes_first(const std::optional<Record>& a, const std::optional<Record>& b) {
    if (!a || !b) return a.has_value() && !b;
    return better(*a, *b);
}

}  // namespace

void View::add(const StoredRecord& record, const std::string& source) {
    const auto [at, added] = entries_.try_emplace(record.key(), Entry{record, source, {}});
    if (!added) return;
    try {
        at->second.problem = parse_problem(record.key().first);
        families_[family_of(at->second.problem)].push_back(&at->second);
    } catch (const Error& error) {
        complaints_.push_back(fmt::format("{}: record not used: {}", source, error.what()));
    }
}

std::vector<View::Ranked> View::ranked(const Problem& problem, const Silicon& silicon, bool same_silicon) const {
    const auto family = families_.find(family_of(problem));
    if (family == families_.end()) return {};
    const SiliconKey here = key_of(silicon);
    std::vector<Ranked> found;
    for (const Entry* entry : family->second) {
        const SiliconKey& there = entry->stored.key().second;
        if (same_silicon ? there != here : there == here || !same_family(there, here)) continue;
        const double far = distance(problem, entry->problem) + (same_silicon ? 0 : sm_distance(here, there));
        if (far <= farthest) found.push_back({far, entry});
    }
    const auto nearer = [&](const Ranked& a, const Ranked& b) {
        if (a.distance != b.distance) return a.distance < b.distance;
        // Sizes within half a step are at no distance; the very same one still comes first.
        return a.entry->problem == problem && b.entry->problem != problem;
    };
    std::ranges::sort(found, nearer);
    for (auto first = found.begin(); first != found.end();) {
        const auto last = std::upper_bound(first, found.end(), *first, nearer);
        if (last - first > 1) sort_by_worth({first, last});
        first = last;
    }
    return found;
}

void View::sort_by_worth(std::span<Ranked> alike) {
    std::vector<std::pair<std::optional<Record>, Ranked>> read_once;
    std::string why;
    for (const Ranked& ranked : alike) read_once.emplace_back(read(ranked.entry->stored, why), ranked);
    std::ranges::sort(read_once, [](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
    std::ranges::transform(read_once, alike.begin(), [](const auto& one) { return one.second; });
}

Choice View::choose(const Problem& problem, const Silicon& silicon,
                    const std::function<void(const std::string&)>& warn) const {
    const auto attempt = [&](const Entry& entry, const char* how, double far, Choice& choice) {
        std::string why;
        const std::optional<Record> record = read(entry.stored, why);
        const std::optional<Config> config =
            record ? usable_config(*record, problem, silicon, why) : std::optional<Config>();
        if (config) choice = {*config, how, far, entry.source};
        // A neighbour that does not fit this problem is no fault of the record; one that fits no problem of its own is.
        else if (!record || problem == entry.problem || !usable_config(*record, entry.problem, silicon, why))
            warn(fmt::format("{}: record of '{}' not used: {}", entry.source, entry.stored.key().first, why));
        return config.has_value();
    };
    Choice choice;
    if (!wants_heuristic(problem)) {
        const auto exact = entries_.find({canonical(problem), key_of(silicon)});
        if (exact != entries_.end() && exact->second.problem == problem && attempt(exact->second, "exact", 0, choice))
            return choice;
        for (const Ranked& near : ranked(problem, silicon, true))
            if (near.entry->problem != problem && attempt(*near.entry, "nearest", near.distance, choice)) return choice;
        for (const Ranked& near : ranked(problem, silicon, false))
            if (attempt(*near.entry, "family", near.distance, choice)) return choice;
    }
    return {default_config(problem, silicon), "heuristic", 0, {}};
}

Database View::database() const {
    StoredRecords records;
    for (const auto& [key, entry] : entries_) records.add(entry.stored);
    return records.database();
}

}  // namespace msda
