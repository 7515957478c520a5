// Numbers, lists and levels of the command line: what is read as a number says the same when it is written again.
#include "tools/cli/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tests/fuzz/fuzz.hpp"
#include "tools/cli/options.hpp"

using namespace msda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input = fuzz::view(data, size);
    if (const auto n = fuzz::accepted([&] { return cli::parse_integer("--n", input, -1000, 1LL << 40); })) {
        fuzz::require(*n >= -1000 && *n <= 1LL << 40, "an integer is in range");
        fuzz::require(cli::parse_integer("--n", fmt::format("{}", *n), -1000, 1LL << 40) == *n, "it reads back");
    }
    if (const auto x = fuzz::accepted([&] { return cli::parse_number("--x", input, -1e9, 1e9); })) {
        fuzz::require(std::isfinite(*x) && std::abs(*x) <= 1e9, "a number is in range");
        fuzz::require(cli::parse_number("--x", fmt::format("{}", *x), -1e9, 1e9) == *x, "it reads back");
    }
    std::string joined;
    for (const std::string& part : cli::split_list(input)) joined += (joined.empty() ? "" : ",") + part;
    fuzz::require(joined == input || input.starts_with(','), "a list is its parts");
    if (const auto levels = fuzz::accepted([&] { return cli::parse_levels(input); })) {
        std::string text;
        for (const Level& level : *levels) {
            text += fmt::format("{}{}x{}", text.empty() ? "" : ",", level.height, level.width);
            if (level.start >= 0) text += fmt::format("@{}", level.start);
        }
        fuzz::require(cli::parse_levels(text) == *levels, "levels read back");
    }
    return 0;
}
