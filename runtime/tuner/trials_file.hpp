// What a search saw, candidate by candidate, beside its database: the matter of reports. One JSON file a problem and
// silicon in the directory DATABASE.trials.
#pragma once

#include <string>
#include <vector>

#include "runtime/tuner/tune.hpp"
#include "tuning_db/file_system.hpp"

namespace msda {

// All trials of one search.
struct TrialSet {
    std::string problem;  // canonical(Problem)
    SiliconKey silicon;
    std::vector<Trial> trials;  // the default first
};

// "db.json.trials" of "db.json".
std::string trials_directory(const std::string& database);

// Writes a set, without the candidates that were never tried, over an earlier one of the same problem and silicon.
// Throws Error(io_failed).
void save_trials(const FileSystem& files, const std::string& database, const TrialSet& set);

// All sets of a database, in the order of their problems; files that are not such sets are named in `complaints`.
std::vector<TrialSet> load_trials(const FileSystem& files, const std::string& database,
                                  std::vector<std::string>& complaints);

}  // namespace msda
