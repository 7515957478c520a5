// msda cache: the disk cache of compiled kernels.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "runtime/runtime_state.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/registry.hpp"

namespace msda::cli {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t day = 24 * 60 * 60;

struct CacheOptions {
    std::int64_t max_mebibytes = 1 << 20;
    std::int64_t max_days = 36500;
    bool json = false;
};

void print(Session& session, const DiskCache& cache, const char* what, DiskCache::Usage usage, bool json) {
    if (json)
        session.out()
            << Json{{"directory", cache.directory()}, {"entries", usage.entries}, {"bytes", usage.bytes}}.dump(2)
            << '\n';
    else if (cache.directory().empty())
        session.out() << "the disk cache is off\n";
    else
        session.out() << fmt::format("{}: {} {} entries, {} bytes\n", cache.directory(), what, usage.entries,
                                     usage.bytes);
}

void info(Session& session, const CacheOptions& options) {
    const DiskCache& cache = session.runtime().state().cache;
    print(session, cache, "holds", cache.usage(), options.json);
}

void prune(Session& session, const CacheOptions& options) {
    const DiskCache& cache = session.runtime().state().cache;
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    print(session, cache, "removed", cache.prune(options.max_mebibytes * mebibyte, options.max_days * day, now.count()),
          options.json);
}

}  // namespace

void add_cache(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("cache", "The disk cache of compiled kernels");
    command->require_subcommand(1);
    const auto options = std::make_shared<CacheOptions>();
    CLI::App* show = command->add_subcommand("info", "Where it lies and how much it holds");
    show->add_flag("--json", options->json, "one JSON object on stdout");
    show->callback([options, &session] { info(session, *options); });
    CLI::App* remove = command->add_subcommand("prune", "Remove what is old, then the least recently used");
    add_integer(*remove, "--max-mib", options->max_mebibytes, 0, 1 << 20, "MiB that may stay; 0 empties the cache");
    add_integer(*remove, "--max-days", options->max_days, 0, 36500, "days without use after which an entry goes");
    remove->add_flag("--json", options->json, "what was removed, as one JSON object");
    remove->callback([options, &session] { prune(session, *options); });
}

}  // namespace msda::cli
