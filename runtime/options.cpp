// Options of a Runtime from the environment; docs/environment.md lists every variable, and a test compares it with the
// code.
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "msda/error.hpp"
#include "msda/msda.hpp"
#include "runtime/environment.hpp"

namespace msda {
namespace {

[[noreturn]] void refuse(const char* name, std::string_view expected, std::string_view got) {
    throw Error(Code::invalid_argument, fmt::format("{}: expected {}, got '{}'", name, expected, got));
}

bool flag(const char* name, bool unset) {
    const std::string value = environment_variable(name);
    if (value.empty()) return unset;
    if (value != "0" && value != "1") refuse(name, "0 or 1", value);
    return value == "1";
}

int count(const char* name) {
    const std::string value = environment_variable(name);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!value.empty() && (error != std::errc{} || end != value.data() + value.size() || number < 0 || number > 4096))
        refuse(name, "a number from 0 to 4096", value);
    return number;
}

bool read_tune() {
    const std::string value = environment_variable("MSDA_TUNE");
    if (!value.empty() && value != "on_miss" && value != "never") refuse("MSDA_TUNE", "on_miss or never", value);
    return value == "on_miss";
}

}  // namespace

Options Options::from_environment() {
    Options options;
    options.cache_directory = environment_variable("MSDA_CACHE_DIR");
    options.disk_cache = flag("MSDA_CACHE", true);
    options.nvrtc_library = environment_variable("MSDA_NVRTC");
    options.driver_library = environment_variable("MSDA_DRIVER");
    options.database = environment_variable("MSDA_DB");
    options.site_databases = environment_variable("MSDA_DB_SITE");
    options.packs = environment_variable("MSDA_PACK");
    options.deterministic = flag("MSDA_DETERMINISTIC", false);
    options.tune_on_miss = read_tune();
    options.tier_up = flag("MSDA_TIER_UP", false);
    options.cpu_threads = count("MSDA_CPU_THREADS");
    return options;
}

}  // namespace msda
