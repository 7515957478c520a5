// Numbers of the command line, read strictly: the whole text, in range, or an error that says what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace msda::cli {

// Decimal digits with an optional minus sign. Throws Error(invalid_argument) naming `what`, the range and the text.
std::int64_t parse_integer(std::string_view what, std::string_view text, std::int64_t lowest, std::int64_t highest);

// A finite decimal number. Throws as parse_integer does.
double parse_number(std::string_view what, std::string_view text, double lowest, double highest);

// The parts between commas; none for an empty text.
std::vector<std::string> split_list(std::string_view text);

// Options whose values are read by the functions above; `target` keeps its value when the option is not given.
CLI::Option* add_integer(CLI::App& app, const std::string& name, std::int64_t& target, std::int64_t lowest,
                         std::int64_t highest, const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, double lowest, double highest,
                        const std::string& help);

}  // namespace msda::cli
