// Which config runs a problem when the caller gives none.
#pragma once

#include <string>

#include "msda/config.hpp"
#include "tuning_db/layers.hpp"

namespace msda {

// The config and where it came from: "exact", "nearest", "family" (database) or "heuristic".
struct ChosenConfig {
    Config config;
    std::string origin;
};

// The database's answer, or the heuristic's where the result must not depend on a database: in deterministic mode and
// for a deterministic gradient. Throws as Layers::choose.
ChosenConfig choose_config(const Problem& problem, const Silicon& silicon, bool deterministic, const Layers& layers);

}  // namespace msda
