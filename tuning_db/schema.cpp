// One function a step between schema versions; a record walks through all that are ahead of it.
#include "tuning_db/schema.hpp"

#include "tuning_db/record.hpp"

namespace msda {
namespace {

// Schema 1 knew whole GPUs only, gave the winner's figures alone, under "times", and did not say how the search ended.
nlohmann::json from_1_to_2(nlohmann::json record) {
    record.erase("digest");
    if (record.contains("silicon") && record["silicon"].is_object()) record["silicon"].emplace("partition", "");
    if (record.contains("times")) {
        record["time"] = record["times"];
        record.erase("times");
    }
    record.emplace("default_time",
                   nlohmann::json{{"cold", nlohmann::json::object()}, {"warm", nlohmann::json::object()}});
    record.emplace("policy", static_cast<int>(policy_partial));
    record.emplace("candidates", 0);
    return record;
}

}  // namespace

nlohmann::json migrate(nlohmann::json record, int from) {
    if (from < 2) record = from_1_to_2(std::move(record));
    return record;
}

}  // namespace msda
