// Loading of the layers and the effective view; the search in it is in lookup.cpp.
#include "tuning_db/layers.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "msda/error.hpp"
#include "tuning_db/builtin.hpp"
#include "tuning_db/database_file.hpp"
#include "tuning_db/lookup.hpp"

namespace msda {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string default_user_file() {
    if (std::string named = environment("MSDA_DB_USER"); !named.empty()) return named;
    if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/')) return data + "/msda/tuning.json";
    if (const std::string home = environment("HOME"); home.starts_with('/'))
        return home + "/.local/share/msda/tuning.json";
    return {};
}

}  // namespace

std::vector<std::string> split_paths(std::string_view text) {
    std::vector<std::string> paths;
    while (!text.empty()) {
        const std::size_t colon = text.find(':');
        if (colon != 0) paths.emplace_back(text.substr(0, colon));
        text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
    }
    return paths;
}

LayersOptions LayersOptions::from_environment() {
    LayersOptions options;
    options.file = environment("MSDA_DB");
    options.user_file = default_user_file();
    options.site_directories = split_paths(environment("MSDA_DB_SITE"));
    return options;
}

struct Layers::State {
    State(LayersOptions given, FileSystem given_files) : options(std::move(given)), files(std::move(given_files)) {}

    void warn(const std::string& message) {
        {
            const std::lock_guard lock(warned_mutex);
            if (!warned.insert(message).second) return;
        }
        if (options.warn) options.warn(message);
    }

    bool frozen() const { return !options.file.empty(); }

    // The rest is guarded by `mutex`.
    void ensure_loaded() {
        if (loaded) return;
        layers = frozen() ? load_frozen() : load_layers();
        loaded = true;
        rebuild();
    }
    std::vector<Layer> load_frozen();
    std::vector<Layer> load_layers();
    void load_file(const std::string& path, Database& into, bool expected);
    void load_site(const std::string& directory, std::vector<Layer>& into);
    void rebuild();

    LayersOptions options;
    FileSystem files;
    mutable std::shared_mutex mutex;
    bool loaded = false;
    std::vector<Layer> layers;  // highest first
    View view;
    std::mutex warned_mutex;
    std::set<std::string> warned;
};

std::vector<Layer> Layers::State::load_frozen() {
    const ParsedDatabase parsed = load_database(files, options.file);
    for (const std::string& complaint : parsed.complaints) warn(complaint);
    return {{options.file, parsed.database}};
}

// A file of a layer that cannot be used costs its records and one warning, never a launch.
void Layers::State::load_file(const std::string& path, Database& into, bool expected) {
    FileStatus status;
    if (!expected && files.status(path, status) == std::errc::no_such_file_or_directory) return;
    try {
        const ParsedDatabase parsed = load_database(files, path);
        for (const std::string& complaint : parsed.complaints) warn(complaint);
        into.merge(parsed.database);
    } catch (const Error& error) {
        warn(fmt::format("tuning database not used: {}", error.what()));
    }
}

void Layers::State::load_site(const std::string& directory, std::vector<Layer>& into) {
    std::vector<std::string> names;
    if (const auto error = files.list(directory, names))
        warn(fmt::format("MSDA_DB_SITE: cannot list {}: {}", directory, error.message()));
    Layer site{directory, {}};
    for (const std::string& name : names)
        if (name.ends_with(".json")) load_file(fmt::format("{}/{}", directory, name), site.database, true);
    into.push_back(std::move(site));
}

std::vector<Layer> Layers::State::load_layers() {
    std::vector<Layer> loading = {{"memory", {}}};
    if (options.packs)
        for (Layer& pack : options.packs()) loading.push_back(std::move(pack));
    if (!options.user_file.empty()) {
        Layer user{options.user_file, {}};
        load_file(options.user_file, user.database, false);
        loading.push_back(std::move(user));
    }
    for (const std::string& directory : options.site_directories) load_site(directory, loading);
    if (options.builtin) {
        Layer builtin{"built-in", {}};
        for (const auto& file : builtin_databases()) {
            const ParsedDatabase parsed = parse_database(file.text, fmt::format("built-in {}", file.name));
            for (const std::string& complaint : parsed.complaints) warn(complaint);
            builtin.database.merge(parsed.database);
        }
        loading.push_back(std::move(builtin));
    }
    return loading;
}

void Layers::State::rebuild() {
    view = View();
    for (const Layer& layer : layers)
        for (const auto& [key, record] : layer.database.records()) view.add(record, layer.source);
    for (const std::string& complaint : view.complaints()) warn(complaint);
}

Layers::Layers(LayersOptions options, FileSystem files)
    : state_(std::make_unique<State>(std::move(options), std::move(files))) {}
Layers::~Layers() = default;
Layers::Layers(Layers&&) noexcept = default;
Layers& Layers::operator=(Layers&&) noexcept = default;

Choice Layers::choose(const Problem& problem, const Silicon& silicon) const {
    const auto warn = [this](const std::string& message) { state_->warn(message); };
    {
        const std::shared_lock lock(state_->mutex);
        if (state_->loaded) return state_->view.choose(problem, silicon, warn);
    }
    {
        const std::unique_lock lock(state_->mutex);
        state_->ensure_loaded();
    }
    const std::shared_lock lock(state_->mutex);
    return state_->view.choose(problem, silicon, warn);
}

void Layers::remember(Record record) {
    const std::unique_lock lock(state_->mutex);
    if (state_->frozen()) return;
    state_->ensure_loaded();
    if (state_->layers.front().database.add(std::move(record))) state_->rebuild();
}

Database Layers::effective() const {
    const std::unique_lock lock(state_->mutex);
    state_->ensure_loaded();
    return state_->view.database();
}

std::string Layers::hash() const { return effective().hash(); }

std::vector<Layer> Layers::layers() const {
    const std::unique_lock lock(state_->mutex);
    state_->ensure_loaded();
    return state_->layers;
}

}  // namespace msda
