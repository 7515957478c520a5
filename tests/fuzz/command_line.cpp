// Arguments of the command that say what to compute, one a line: shapes by name or by numbers, types, a config. What is
// accepted are problems whose text reads back.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tools/cli/config_option.hpp"
#include "tools/cli/options.hpp"

using namespace msda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view input = fuzz::view(data, size);
    const bool many = fuzz::take_byte(input) % 2 == 1;
    std::vector<std::string> arguments;
    for (const std::string_view part : fuzz::parts(input, '\n')) arguments.emplace_back(part);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    CLI::App app;
    cli::ProblemOptions options;
    cli::ConfigOptions configs;
    options.add(app, many);
    configs.add(app);
    const auto problems = fuzz::accepted([&]() -> std::vector<cli::NamedProblem> {
        try {
            app.parse(arguments);
        } catch (const CLI::ParseError&) {  // also --help
            return {};
        }
        return options.problems();
    });
    if (!problems || problems->empty()) return 0;
    for (const cli::NamedProblem& named : *problems)
        fuzz::require(parse_problem(canonical(named.problem)) == named.problem, "the problem's text reads back");
    if (configs.given()) (void)fuzz::accepted([&] { return configs.config(problems->front().problem, Silicon{}); });
    return 0;
}
