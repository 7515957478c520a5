// std::from_chars instead of CLI11's own conversion, which saturates silently and takes octal.
#include "tools/cli/numbers.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "msda/error.hpp"

namespace msda::cli {
namespace {

// What is quoted of a text that may be long.
std::string_view shortened(std::string_view text) { return text.substr(0, 64); }

}  // namespace

std::int64_t parse_integer(std::string_view what, std::string_view text, std::int64_t lowest, std::int64_t highest) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < lowest || value > highest)
        throw Error(Code::invalid_argument, fmt::format("{}: expected an integer from {} to {}, got '{}'", what, lowest,
                                                        highest, shortened(text)));
    return value;
}

double parse_number(std::string_view what, std::string_view text, double lowest, double highest) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
        value < lowest || value > highest)
        throw Error(Code::invalid_argument, fmt::format("{}: expected a number from {} to {}, got '{}'", what, lowest,
                                                        highest, shortened(text)));
    return value;
}

std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
        if (text.empty()) parts.emplace_back();  // "a," ends in an empty part, which its reader refuses
    }
    return parts;
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, std::int64_t& target, std::int64_t lowest,
                         std::int64_t highest, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [name, &target, lowest, highest](const std::string& text) {
                target = parse_integer(name, text, lowest, highest);
            },
            help)
        ->type_name("INTEGER");
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, double lowest, double highest,
                        const std::string& help) {
    return app
        .add_option_function<std::string>(
            name,
            [name, &target, lowest, highest](const std::string& text) {
                target = parse_number(name, text, lowest, highest);
            },
            help)
        ->type_name("NUMBER");
}

}  // namespace msda::cli
