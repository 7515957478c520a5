// Which GPU a command that needs none asks for.
#pragma once

#include <string>

#include "tools/cli/session.hpp"
#include "tuning_db/database.hpp"

namespace msda::cli {

// The silicon of a record's key, with the limits that its architecture usually has.
Silicon silicon_of(const SiliconKey& key);

// The GPU of --arch, else the one that is there, else sm_90; where the database knows exactly one chip of that
// architecture, that chip. Throws Error(invalid_argument) for an unknown architecture.
Silicon silicon_for(Session& session, const std::string& arch, const Database& database);

}  // namespace msda::cli
