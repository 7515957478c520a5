// The page of `msda report`: one HTML file about a tuning database and all candidates that its searches saw.
#pragma once

#include <string>
#include <vector>

#include "runtime/tuner/trials_file.hpp"
#include "tuning_db/database.hpp"

namespace msda::cli {

// Self-contained HTML (styles and plots inline, no script, nothing fetched). Problems without trials get their numbers
// only.
std::string report_page(const std::string& title, const Database& database, const std::vector<TrialSet>& trials);

}  // namespace msda::cli
