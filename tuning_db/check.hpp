// Whether a stored record can be used here: its config is checked by field names and against the problem.
#pragma once

#include <optional>
#include <string>

#include "msda/config.hpp"
#include "tuning_db/record.hpp"

namespace msda {

// The record's config for `problem` on `silicon`, or nothing with the reason in `why`: a field that this version does
// not know or that is missing, a value out of range, or a limit of the problem or GPU (why_not). Never throws on a
// record.
std::optional<Config> usable_config(const Record& record, const Problem& problem, const Silicon& silicon,
                                    std::string& why);

}  // namespace msda
