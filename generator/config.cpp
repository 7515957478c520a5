// Names of the Config fields and the text form of a Config.
#include "msda/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::array<ConfigField, 14> fields = {{
    {"tile_width", &Config::tile_width},
    {"tile_height", &Config::tile_height},
    {"heads", &Config::heads},
    {"lanes", &Config::lanes},
    {"vector", &Config::vector},
    {"split", &Config::split},
    {"staging", &Config::staging},
    {"unroll", &Config::unroll},
    {"min_blocks", &Config::min_blocks},
    {"scatter", &Config::scatter},
    {"threads", &Config::threads},
    {"cells", &Config::cells},
    {"kept", &Config::kept},
    {"levels_per_pass", &Config::levels_per_pass},
}};

}  // namespace

std::span<const ConfigField> config_fields() { return fields; }

std::string canonical(const Config& config) {
    std::string text;
    for (const ConfigField& field : fields)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, config.*field.member);
    return text;
}

Config parse_config(std::string_view text) {
    Config config;
    std::array<bool, fields.size()> seen{};
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
        const std::size_t equals = word.find('=');
        const std::string_view key = word.substr(0, equals);
        const auto* field = std::ranges::find(fields, key, &ConfigField::name);
        if (field == fields.end() || equals == std::string_view::npos)
            throw Error(Code::invalid_argument, fmt::format("config: unknown field '{:.64}'", word));
        const std::string_view number = word.substr(equals + 1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), config.*field->member);
        if (error != std::errc{} || end != number.data() + number.size())
            throw Error(Code::invalid_argument,
                        fmt::format("config field {}: expected an integer, got '{:.64}'", key, number));
        bool& stands = seen[static_cast<std::size_t>(field - fields.begin())];
        if (stands) throw Error(Code::invalid_argument, fmt::format("config: field '{}' stands twice", key));
        stands = true;
    }
    for (std::size_t i = 0; i < fields.size(); i++)
        if (!seen[i]) throw Error(Code::invalid_argument, fmt::format("config: field '{}' is missing", fields[i].name));
    return config;
}

}  // namespace msda
