// Runtimes of the C interface.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/c/boundary.hpp"
#include "runtime/c/handles.hpp"

namespace msda::c {
namespace {

void take(const char* given, std::string& option) {
    if (given != nullptr) option = given;
}

void take(const char* name, std::int32_t given, bool& option) {
    if (given < MSDA_DEFAULT || given > MSDA_OFF)
        throw Error(
            Code::invalid_argument,
            fmt::format("options.{}: expected MSDA_DEFAULT, MSDA_ON or MSDA_OFF (0 to 2), got {}", name, given));
    if (given != MSDA_DEFAULT) option = given == MSDA_ON;
}

Options options_of(const msda_options* pointer) {
    Options options = Options::from_environment();
    if (pointer == nullptr) return options;
    const msda_options given = read_struct(pointer, "options");
    take(given.cache_directory, options.cache_directory);
    take(given.nvrtc_library, options.nvrtc_library);
    take(given.driver_library, options.driver_library);
    take(given.database, options.database);
    take(given.site_databases, options.site_databases);
    take(given.packs, options.packs);
    take("disk_cache", given.disk_cache, options.disk_cache);
    take("deterministic", given.deterministic, options.deterministic);
    take("tune_on_miss", given.tune_on_miss, options.tune_on_miss);
    take("tier_up", given.tier_up, options.tier_up);
    if (given.cpu_threads < 0 || given.cpu_threads > 4096)
        throw Error(Code::invalid_argument,
                    fmt::format("options.cpu_threads: expected 0 to 4096, got {}", given.cpu_threads));
    if (given.cpu_threads != 0) options.cpu_threads = given.cpu_threads;
    if (given.warn != nullptr)
        options.warn = [warn = given.warn, user = given.user](const std::string& message) {
            warn(message.c_str(), user);
        };
    return options;
}

char* copy_of(const std::string& text) {
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

}  // namespace
}  // namespace msda::c

using namespace msda;

msda_status msda_runtime_create(const msda_options* options, msda_runtime** runtime) {
    return c::guarded([&] {
        c::require(runtime, "runtime");
        *runtime = nullptr;
        *runtime = new msda_runtime{std::make_unique<Runtime>(c::options_of(options))};
    });
}

void msda_runtime_destroy(msda_runtime* runtime) { delete runtime; }

int32_t msda_runtime_has_gpu(msda_runtime* runtime) {
    bool found = false;
    const msda_status status = c::guarded([&] { found = c::runtime_of(runtime).has_gpu(); });
    return status == MSDA_OK && found ? 1 : 0;
}

msda_status msda_runtime_doctor(msda_runtime* runtime, char** text) {
    return c::guarded([&] {
        c::require(text, "text");
        *text = nullptr;
        *text = c::copy_of(c::runtime_of(runtime).doctor());
    });
}

msda_status msda_runtime_settle(msda_runtime* runtime) {
    return c::guarded([&] { c::runtime_of(runtime).settle(); });
}

void msda_free_text(char* text) { std::free(text); }
