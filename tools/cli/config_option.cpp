// Changes are read one by one, so that an error names the field.
#include "tools/cli/config_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/cli/numbers.hpp"

namespace msda::cli {

void ConfigOptions::add(CLI::App& app) {
    app.add_option("--config", text_, "fields of the default config to change: \"tile_width=8 unroll=2\"")
        ->type_name("TEXT");
}

Config ConfigOptions::config(const Problem& problem, const Silicon& silicon) const {
    Config config = default_config(problem, silicon);
    std::string text = text_;
    std::ranges::replace(text, ' ', ',');
    std::vector<std::string> seen;
    for (const std::string& part : split_list(text)) {
        if (part.empty()) continue;
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const auto fields = config_fields();
        const auto field = std::ranges::find(fields, std::string_view(name), &ConfigField::name);
        if (equals == std::string::npos || field == fields.end()) {
            std::string names;
            for (const ConfigField& known : fields) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
            throw Error(Code::invalid_argument, fmt::format("--config: expected NAME=INTEGER with one of {}; got '{}'",
                                                            names, part.substr(0, 64)));
        }
        if (std::ranges::find(seen, name) != seen.end())
            throw Error(Code::invalid_argument, fmt::format("--config: '{}' stands twice", name));
        seen.push_back(name);
        config.*field->member =
            static_cast<int>(parse_integer("--config " + name, std::string_view(part).substr(equals + 1), 0, 1 << 20));
    }
    if (const std::string why = why_not(problem, config, silicon); !why.empty())
        throw Error(Code::invalid_argument, "--config: " + why);
    return config;
}

}  // namespace msda::cli
