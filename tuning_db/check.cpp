// Stored configs meet the generator of today.
#include "tuning_db/check.hpp"

#include <fmt/format.h>

#include <limits>

namespace msda {
namespace {

std::optional<Config> config_by_name(const std::map<std::string, std::int64_t>& table, std::string& why) {
    Config config;
    for (const ConfigField& field : config_fields()) {
        const auto at = table.find(std::string(field.name));
        if (at == table.end()) {
            why = fmt::format("config field '{}' is missing", field.name);
            return std::nullopt;
        }
        if (at->second < std::numeric_limits<int>::min() || at->second > std::numeric_limits<int>::max()) {
            why = fmt::format("config field '{}' is out of range: {}", field.name, at->second);
            return std::nullopt;
        }
        config.*field.member = static_cast<int>(at->second);
    }
    for (const auto& [name, value] : table) {
        bool known = false;
        for (const ConfigField& field : config_fields()) known |= field.name == name;
        if (!known) {
            why = fmt::format("config field '{:.64}' is not known to this version", name);
            return std::nullopt;
        }
    }
    return config;
}

}  // namespace

std::optional<Config> usable_config(const Record& record, const Problem& problem, const Silicon& silicon,
                                    std::string& why) {
    std::optional<Config> config = config_by_name(record.config, why);
    if (!config) return std::nullopt;
    why = why_not(problem, *config, silicon);
    if (!why.empty()) return std::nullopt;
    return config;
}

}  // namespace msda
