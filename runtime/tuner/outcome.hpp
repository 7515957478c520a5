// From the samples of a finished or stopped search to a record and the story of each candidate.
#pragma once

#include "runtime/tuner/tune.hpp"

namespace msda {

// Throws Error(interrupted) when the default was never timed, verify_failed when it failed.
TuneOutcome outcome_of(const TuneRequest& request, const std::vector<Config>& configs, const Search& search,
                       bool stopped, int memory_mhz, double seconds);

}  // namespace msda
