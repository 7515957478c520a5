// JSON of trial sets.
#include "runtime/tuner/trials_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "runtime/digest.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t largest_file = std::int64_t{64} << 20;

Json to_json(const Trial& trial) {
    return {{"config", canonical(trial.config)}, {"fate", name(trial.fate)}, {"why", trial.why},
            {"samples", trial.samples},          {"time_us", trial.time_us}, {"cold", trial.figures.cold},
            {"warm", trial.figures.warm}};
}

Fate parse_fate(const std::string& text) {
    for (int i = 0; i <= static_cast<int>(Fate::skipped); i++)
        if (name(static_cast<Fate>(i)) == text) return static_cast<Fate>(i);
    throw Error(Code::bad_file, fmt::format("unknown fate '{}'", text));
}

Trial parse_trial(const Json& json) {
    Trial trial{parse_config(json.at("config").get<std::string>()),
                parse_fate(json.at("fate").get<std::string>()),
                json.at("why").get<std::string>(),
                json.at("samples").get<std::int64_t>(),
                json.at("time_us").get<double>(),
                {}};
    trial.figures.cold = json.at("cold").get<std::map<std::string, double>>();
    trial.figures.warm = json.at("warm").get<std::map<std::string, double>>();
    return trial;
}

TrialSet parse_set(const std::string& text) {
    const Json json = Json::parse(text);
    const Json& silicon = json.at("silicon");
    TrialSet set{json.at("problem").get<std::string>(),
                 {silicon.at("capability").get<int>(), silicon.at("sm_count").get<int>(),
                  silicon.at("l2_bytes").get<std::int64_t>(), silicon.at("bus_width").get<int>(),
                  silicon.at("partition").get<std::string>()},
                 {}};
    for (const Json& trial : json.at("trials")) set.trials.push_back(parse_trial(trial));
    return set;
}

}  // namespace

std::string trials_directory(const std::string& database) { return database + ".trials"; }

void save_trials(const FileSystem& files, const std::string& database, const TrialSet& set) {
    const std::string directory = trials_directory(database);
    Json trials = Json::array();
    for (const Trial& trial : set.trials)
        if (trial.fate != Fate::skipped) trials.push_back(to_json(trial));
    const Json json = {{"problem", set.problem},
                       {"silicon",
                        {{"capability", set.silicon.capability},
                         {"sm_count", set.silicon.sm_count},
                         {"l2_bytes", set.silicon.l2_bytes},
                         {"bus_width", set.silicon.bus_width},
                         {"partition", set.silicon.partition}}},
                       {"trials", std::move(trials)}};
    Digest digest;
    digest.add(set.problem).add(canonical(set.silicon));
    const std::string path = directory + "/" + digest.hex() + ".json";
    auto error = files.make_directories(directory, 0755);
    if (!error) error = files.write_atomically(path, json.dump() + "\n", 0644);
    if (error) throw Error(Code::io_failed, fmt::format("cannot write {}: {}", path, error.message()));
}

std::vector<TrialSet> load_trials(const FileSystem& files, const std::string& database,
                                  std::vector<std::string>& complaints) {
    std::vector<TrialSet> sets;
    std::vector<std::string> names;
    const std::string directory = trials_directory(database);
    if (files.list(directory, names)) return sets;
    for (const std::string& file : names) {
        if (!file.ends_with(".json")) continue;
        std::string text;
        try {
            if (const auto error = files.read(directory + "/" + file, text, Trust::anybody, largest_file))
                throw Error(Code::io_failed, error.message());
            sets.push_back(parse_set(text));
        } catch (const std::exception& error) {
            complaints.push_back(fmt::format("{}/{}: not used: {}", directory, file, error.what()));
        }
    }
    std::ranges::sort(sets, {}, [](const TrialSet& set) { return std::pair(set.problem, set.silicon); });
    return sets;
}

}  // namespace msda
