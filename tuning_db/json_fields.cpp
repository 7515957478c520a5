// Limits and kinds of JSON fields.
#include "tuning_db/json_fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "msda/error.hpp"

namespace msda {
void refuse(const std::string& why) { throw Error(Code::bad_file, why); }

void check_json_limits(std::string_view text, std::size_t longest, int deepest) {
    if (text.size() > longest) refuse(fmt::format("longer than {} bytes", longest));
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && ++depth > deepest)
            refuse(fmt::format("nested deeper than {}", deepest));
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
    }
}

JsonFields::JsonFields(const nlohmann::json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object.is_object()) refuse(fmt::format("{}: expected an object", name_));
    for (const auto& item : object.items()) left_.insert(item.key());
}

const nlohmann::json& JsonFields::take(const std::string& key) {
    const auto at = object_.find(key);
    if (at == object_.end()) refuse(fmt::format("{}: '{:.64}' is missing", name_, key));
    left_.erase(key);
    return *at;
}

std::string JsonFields::text(const std::string& key) {
    const nlohmann::json& value = take(key);
    if (!value.is_string()) refuse(fmt::format("{}: '{:.64}' is not a string", name_, key));
    return value.get<std::string>();
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t low, std::int64_t high) {
    const nlohmann::json& value = take(key);
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    if (!value.is_number_integer() || too_large || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
        refuse(fmt::format("{}: '{:.64}' is no integer from {} to {}", name_, key, low, high));
    return value.get<std::int64_t>();
}

int JsonFields::count(const std::string& key) { return static_cast<int>(integer(key, 0, INT32_MAX)); }

double JsonFields::time(const std::string& key, bool zero_allowed) {
    const nlohmann::json& value = take(key);
    const double us = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(us) || us < 0 || (us == 0 && !zero_allowed))
        refuse(fmt::format("{}: '{:.64}' is no positive time", name_, key));
    return us;
}

void JsonFields::finish() const {
    if (!left_.empty()) refuse(fmt::format("{}: unknown key '{:.64}'", name_, *left_.begin()));
}

}  // namespace msda
