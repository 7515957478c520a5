// Version of the database's schema, and how older records become current ones.
#pragma once

#include <nlohmann/json.hpp>

namespace msda {

// The schema this library writes (tuning_db/schema.json describes it).
// 1: no policy and no partition, one cold and one warm time a kind of data as "times". 2: current.
inline constexpr int current_schema = 2;

// Turns a record of an older schema into one of the current schema. The old digest is dropped, since it covered the old
// text. Throws nothing for fields it does not find: parse_line judges the result.
nlohmann::json migrate(nlohmann::json record, int from);

}  // namespace msda
