// Medians of the final for the record, of all samples for the trials.
#include "runtime/tuner/outcome.hpp"

#include <algorithm>
#include <cmath>

#include "msda/error.hpp"

namespace msda {
namespace {

std::vector<double> objectives(std::span<const Sample> samples) {
    std::vector<double> times;
    for (const Sample& sample : samples) times.push_back(objective(sample));
    return times;
}

std::map<std::string, double> by_kind(std::span<const Sample> samples, const std::vector<std::string>& kinds) {
    std::map<std::string, double> times;
    if (samples.empty()) return times;
    for (std::size_t kind = 0; kind < kinds.size(); kind++) {
        std::vector<double> column;
        for (const Sample& sample : samples) column.push_back(sample.us.at(kind));
        times[kinds[kind]] = median(column);
    }
    return times;
}

Figures figures_of(const Candidate& candidate, int first_sample, const std::vector<std::string>& kinds) {
    const std::span<const Sample> cold = std::span(candidate.cold).subspan(static_cast<std::size_t>(first_sample));
    return {by_kind(cold, kinds), by_kind(candidate.warm, kinds)};
}

Trial trial_of(const Config& config, const Candidate& candidate, const std::vector<std::string>& kinds) {
    Trial trial{config, candidate.fate, candidate.why, static_cast<std::int64_t>(candidate.cold.size()), 0, {}};
    if (candidate.cold.empty()) return trial;
    trial.time_us = median(objectives(candidate.cold));
    trial.figures = figures_of(candidate, 0, kinds);
    return trial;
}

}  // namespace

TuneOutcome outcome_of(const TuneRequest& request, const std::vector<Config>& configs, const Search& search,
                       bool stopped, int memory_mhz, double seconds) {
    const SearchResult result = search.result();
    const std::vector<Candidate>& candidates = search.candidates();
    const Candidate& standard = candidates.front();
    const Candidate& winner = candidates[static_cast<std::size_t>(result.winner)];
    if (standard.cold.empty()) throw Error(Code::interrupted, "stopped before the default config was timed");

    TuneOutcome outcome;
    outcome.why = stopped ? "stopped: " + result.why : result.why;
    outcome.seconds = seconds;
    for (std::size_t i = 0; i < configs.size(); i++) {
        outcome.trials.push_back(trial_of(configs[i], candidates[i], request.track.data));
        outcome.timed += !candidates[i].cold.empty();
    }

    // A race that has only just begun has no samples of its own yet: then all samples count.
    const auto from = [](const Candidate& c, int first) {
        return static_cast<std::size_t>(first) < c.cold.size() ? first : 0;
    };
    const int first = from(winner, result.first_sample);
    const int default_first = from(standard, result.default_first_sample);
    const auto times = objectives(std::span(winner.cold).subspan(static_cast<std::size_t>(first)));
    const auto default_times = objectives(std::span(standard.cold).subspan(static_cast<std::size_t>(default_first)));
    Record& record = outcome.record;
    record.problem = canonical(request.problem);
    record.silicon = key_of(request.silicon);
    record.config = by_name(configs[static_cast<std::size_t>(result.winner)]);
    record.time_us = median(times);
    record.default_us = median(default_times);
    record.mad_us = median_absolute_deviation(times);
    record.time = figures_of(winner, first, request.track.data);
    record.default_time = figures_of(standard, default_first, request.track.data);
    record.samples = static_cast<std::int64_t>(times.size());
    record.policy = result.complete ? policy_complete : policy_partial;
    record.candidates = outcome.timed;
    record.sm_mhz = search.clocks().normal();
    record.memory_mhz = memory_mhz;
    return outcome;
}

}  // namespace msda
