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
    struct StoredLayer {
        std::string source;
        StoredRecords records;
    };
    std::vector<StoredLayer> load_frozen();
    std::vector<StoredLayer> load_layers();
    void load_file(const std::string& path, StoredRecords& into, bool expected);
    void load_site(const std::string& directory, std::vector<StoredLayer>& into);
    void rebuild();

    LayersOptions options;
    FileSystem files;
    mutable std::shared_mutex mutex;
    bool loaded = false;
    std::vector<StoredLayer> layers;  // highest first
    View view;
    std::mutex warned_mutex;
    std::set<std::string> warned;
};

std::vector<Layers::State::StoredLayer> Layers::State::load_frozen() {
    const IndexedDatabase indexed = load_index(files, options.file);
    for (const std::string& complaint : indexed.complaints) warn(complaint);
    return {{options.file, indexed.records}};
}

// A file of a layer that cannot be used costs its records and one warning, never a launch.
void Layers::State::load_file(const std::string& path, StoredRecords& into, bool expected) {
    FileStatus status;
    if (!expected && files.status(path, status) == std::errc::no_such_file_or_directory) return;
    try {
        const IndexedDatabase indexed = load_index(files, path);
        for (const std::string& complaint : indexed.complaints) warn(complaint);
        into.merge(indexed.records);
    } catch (const Error& error) {
        warn(fmt::format("tuning database not used: {}", error.what()));
    }
}

void Layers::State::load_site(const std::string& directory, std::vector<StoredLayer>& into) {
    std::vector<std::string> names;
    if (const auto error = files.list(directory, names))
        warn(fmt::format("MSDA_DB_SITE: cannot list {}: {}", directory, error.message()));
    StoredLayer site{directory, {}};
    for (const std::string& name : names)
        if (name.ends_with(".json")) load_file(fmt::format("{}/{}", directory, name), site.records, true);
    into.push_back(std::move(site));
}

std::vector<Layers::State::StoredLayer> Layers::State::load_layers() {
    std::vector<StoredLayer> loading = {{"memory", {}}};
    if (options.packs)
        for (const Layer& pack : options.packs()) {
            StoredLayer stored{pack.source, {}};
            for (const auto& [key, record] : pack.database.records()) stored.records.add(StoredRecord(record));
            loading.push_back(std::move(stored));
        }
    if (!options.user_file.empty()) {
        StoredLayer user{options.user_file, {}};
        load_file(options.user_file, user.records, false);
        loading.push_back(std::move(user));
    }
    for (const std::string& directory : options.site_directories) load_site(directory, loading);
    if (options.builtin) {
        StoredLayer builtin{"built-in", {}};
        for (const auto& file : builtin_databases()) {
            const IndexedDatabase indexed = index_database(file.text, fmt::format("built-in {}", file.name));
            for (const std::string& complaint : indexed.complaints) warn(complaint);
            builtin.records.merge(indexed.records);
        }
        loading.push_back(std::move(builtin));
    }
    return loading;
}

void Layers::State::rebuild() {
    view = View();
    for (const StoredLayer& layer : layers)
        for (const auto& [key, record] : layer.records.records()) view.add(record, layer.source);
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
    if (state_->layers.front().records.add(StoredRecord(std::move(record)))) state_->rebuild();
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
    std::vector<Layer> layers;
    for (const State::StoredLayer& layer : state_->layers) layers.push_back({layer.source, layer.records.database()});
    return layers;
}

}  // namespace msda
