// JSON of trial sets.
#include "runtime/tuner/trials_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "runtime/digest.hpp"
#include "tuning_db/json_fields.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t largest_file = std::int64_t{64} << 20;
constexpr int deepest = 6;  // a set needs 4

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

std::map<std::string, double> parse_times(const Json& json, const std::string& name) {
    std::map<std::string, double> times;
    JsonFields fields(json, name);
    for (const auto& item : json.items()) times.emplace(item.key(), fields.time(item.key(), true));
    return times;
}

Trial parse_trial(const Json& json) {
    JsonFields fields(json, "trial");
    Trial trial;
    trial.config = parse_config(fields.text("config"));
    trial.fate = parse_fate(fields.text("fate"));
    trial.why = fields.text("why");
    trial.samples = fields.integer("samples", 0, INT64_MAX);
    trial.time_us = fields.time("time_us", true);
    trial.figures.cold = parse_times(fields.take("cold"), "cold");
    trial.figures.warm = parse_times(fields.take("warm"), "warm");
    return trial;
}

TrialSet parse_set(const std::string& text) {
    check_json_limits(text, text.size(), deepest);
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw Error(Code::bad_file, "not valid JSON");
    JsonFields fields(json, "trials");
    JsonFields silicon(fields.take("silicon"), "silicon");
    TrialSet set{fields.text("problem"),
                 {silicon.count("capability"), silicon.count("sm_count"), silicon.integer("l2_bytes", 0, INT64_MAX),
                  silicon.count("bus_width"), silicon.text("partition")},
                 {}};
    const Json& trials = fields.take("trials");
    if (!trials.is_array()) throw Error(Code::bad_file, "trials: 'trials' is no list");
    for (const Json& trial : trials) set.trials.push_back(parse_trial(trial));
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
            if (const auto error =
                    files.read(fmt::format("{}/{}", directory, file), text, Trust::anybody, largest_file))
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
