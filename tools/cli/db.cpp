// msda db: looks into tuning databases, merges and compares them.
#include <fmt/format.h>
#include <fnmatch.h>

#include <memory>

#include "msda/error.hpp"
#include "tools/cli/architecture.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/output_file.hpp"
#include "tools/cli/problem_title.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/silicon_option.hpp"
#include "tools/cli/table.hpp"
#include "tuning_db/check.hpp"
#include "tuning_db/database_file.hpp"
#include "tuning_db/diff.hpp"
#include "tuning_db/layers.hpp"

namespace msda::cli {
namespace {

struct DbOptions {
    std::string file, other, out, arch, problem;
    std::vector<std::string> files;
    bool json = false;
    ProblemOptions get;
};

// A database with its complaints on stderr.
ParsedDatabase load(Session& session, const std::string& path) {
    ParsedDatabase parsed = load_database(FileSystem(), path);
    for (const std::string& complaint : parsed.complaints)
        session.err() << fmt::format("msda: warning: {}\n", complaint);
    return parsed;
}

bool wanted(const Record& record, const DbOptions& options) {
    const bool pattern =
        options.problem.empty() || fnmatch(("*" + options.problem + "*").c_str(), record.problem.c_str(), 0) == 0;
    return pattern &&
           (options.arch.empty() || parse_architecture(options.arch).capability == record.silicon.capability);
}

Database selected(const Database& all, const DbOptions& options) {
    Database some;
    for (const auto& [key, record] : all.records())
        if (wanted(record, options)) some.add(record);
    return some;
}

Json records_json(const Database& database) {
    Json records = Json::array();
    for (const auto& [key, record] : database.records()) records.push_back(Json::parse(to_line(record)));
    return records;
}

void show(Session& session, const DbOptions& options) {
    const Database database = selected(load(session, options.file).database, options);
    if (options.json) {
        session.out() << Json{{"records", records_json(database)}}.dump(2) << '\n';
        return;
    }
    Table table({"problem", "GPU", "time", "default", "speed-up", "samples", "policy", "date"});
    for (const auto& [key, r] : database.records())
        table.add({title_of(r.problem), r.gpu.empty() ? canonical(r.silicon) : r.gpu, duration_text(r.time_us),
                   duration_text(r.default_us), fmt::format("{:.2f}x", r.speedup()), fmt::format("{}", r.samples),
                   r.policy >= policy_complete ? "complete" : "partial", r.date});
    table.print(session.out());
}

// Every record against the generator of this version.
void check(Session& session, const DbOptions& options) {
    const ParsedDatabase parsed = load_database(FileSystem(), options.file);
    std::vector<std::string> complaints = parsed.complaints;
    for (const auto& [key, record] : parsed.database.records()) try {
            std::string why;
            if (!usable_config(record, parse_problem(record.problem), silicon_of(record.silicon), why))
                complaints.push_back(
                    fmt::format("{}: record of '{}' cannot be used: {}", options.file, record.problem, why));
        } catch (const Error& error) {
            complaints.push_back(fmt::format("{}: {}", options.file, error.what()));
        }
    if (options.json)
        session.out()
            << Json{{"records", parsed.database.size()}, {"schema", parsed.schema}, {"complaints", complaints}}.dump(2)
            << '\n';
    else
        session.out() << fmt::format("{}: {} records, schema {}, {} complaints\n", options.file, parsed.database.size(),
                                     parsed.schema, complaints.size());
    for (const std::string& complaint : complaints) session.err() << complaint << '\n';
    if (!complaints.empty()) throw Error(Code::bad_file, fmt::format("{} is not clean", options.file));
}

void hash(Session& session, const DbOptions& options) {
    const std::string hash = options.file.empty() ? Layers().hash() : load(session, options.file).database.hash();
    if (options.json)
        session.out() << Json{{"hash", hash}}.dump(2) << '\n';
    else
        session.out() << hash << '\n';
}

void get(Session& session, const DbOptions& options) {
    const NamedProblem what = options.get.problem();
    const Database database = load(session, options.file).database;
    const Silicon silicon = silicon_for(session, options.arch, database);
    LayersOptions layers;
    layers.file = options.file;
    layers.warn = [&](const std::string& message) { session.err() << fmt::format("msda: warning: {}\n", message); };
    const Choice choice = Layers(layers).choose(what.problem, silicon);
    if (options.json) {
        session.out() << Json{{"how", choice.how},
                              {"distance", choice.distance},
                              {"source", choice.source},
                              {"config", to_json(choice.config)},
                              {"problem", canonical(what.problem)},
                              {"silicon", canonical(key_of(silicon))}}
                             .dump(2)
                      << '\n';
        return;
    }
    session.out() << fmt::format("{} (distance {:.2f}): {}\n", choice.how, choice.distance, canonical(choice.config));
}

void merge(Session& session, const DbOptions& options) {
    Database all;
    for (const std::string& file : options.files) all.merge(load(session, file).database);
    const Database saved = save_database(FileSystem(), options.out, all);
    session.out() << fmt::format("{}: {} records\n", options.out, saved.size());
}

std::string side(const Record* record) {
    return record ? fmt::format("{} ({:.2f}x)", duration_text(record->time_us), record->speedup()) : "-";
}

void show_diff(Session& session, const DbOptions& options) {
    const Database left = load(session, options.file).database;
    const Database right = load(session, options.other).database;
    const std::vector<RecordDifference> differences = diff(left, right);
    Json json = Json::array();
    Table table({"problem", "GPU", "left", "right", "config"});
    for (const RecordDifference& d : differences) {
        const char* config = d.same_config()     ? "same"
                             : d.left && d.right ? "other"
                             : d.left            ? "left only"
                                                 : "right only";
        table.add({title_of(d.key.first), canonical(d.key.second), side(d.left), side(d.right), config});
        json.push_back({{"problem", d.key.first},
                        {"silicon", canonical(d.key.second)},
                        {"left_us", d.left ? Json(d.left->time_us) : Json(nullptr)},
                        {"right_us", d.right ? Json(d.right->time_us) : Json(nullptr)},
                        {"config", config}});
    }
    if (options.json)
        session.out() << Json{{"differences", json}}.dump(2) << '\n';
    else if (differences.empty())
        session.out() << "no difference\n";
    else
        table.print(session.out());
}

// A file for tuning_db/builtin/ or a site directory: only records that this version can use.
void export_records(Session& session, const DbOptions& options) {
    const Database chosen =
        selected(options.file.empty() ? Layers().effective() : load(session, options.file).database, options);
    Database usable;
    std::string why;
    for (const auto& [key, record] : chosen.records())
        if (record.silicon.partition != simulated_partition &&
            usable_config(record, parse_problem(record.problem), silicon_of(record.silicon), why))
            usable.add(record);
    if (options.out.empty())
        session.out() << to_text(usable);
    else
        write_output(options.out, to_text(usable));
    session.err() << fmt::format("{} of {} records exported\n", usable.size(), chosen.size());
}

void add_filters(CLI::App& command, DbOptions& options) {
    command.add_option("--problem", options.problem, "only problems whose text matches: 'value=f16' or a glob");
    command.add_option("--arch", options.arch, "only GPUs of this architecture: sm_90");
}

}  // namespace

void add_db(CLI::App& app, Session& session) {
    CLI::App* db =
        app.add_subcommand("db", "Tuning databases: show, check, hash, get, merge, diff, export (docs/database.md)");
    db->require_subcommand(1);
    const auto sub = [&](const char* name, const char* help, auto action) {
        const auto options = std::make_shared<DbOptions>();
        CLI::App* command = db->add_subcommand(name, help);
        command->callback([options, action, &session] { action(session, *options); });
        return std::pair(command, options);
    };
    const auto file = [](CLI::App* command, const std::shared_ptr<DbOptions>& options, bool required) {
        CLI::Option* option = command->add_option("file", options->file, "a tuning database");
        if (required) option->required();
    };
    const auto json = [](CLI::App* command, const std::shared_ptr<DbOptions>& options) {
        command->add_flag("--json", options->json, "one JSON object on stdout");
    };
    {
        const auto [command, options] = sub("show", "List records", show);
        file(command, options, true);
        add_filters(*command, *options);
        json(command, options);
    }
    {
        const auto [command, options] =
            sub("check", "Check every line and every config; exit code 11 if one is bad", check);
        file(command, options, true);
        json(command, options);
    }
    {
        const auto [command, options] =
            sub("hash", "Digest of a file, or of what this machine's layers add up to", hash);
        file(command, options, false);
        json(command, options);
    }
    {
        const auto [command, options] =
            sub("get", "Which config a file gives for a problem, and how it was found", get);
        file(command, options, true);
        options->get.add(*command, false);
        command->add_option("--arch", options->arch, "ask for this architecture instead of the GPU that is there");
        json(command, options);
    }
    {
        const auto [command, options] =
            sub("merge", "Merge databases into one; better records win, none is lost", merge);
        command->add_option("out", options->out, "gets the records; what it holds already takes part")->required();
        command->add_option("in", options->files, "databases to merge")->required();
    }
    {
        const auto [command, options] = sub("diff", "Records in which two databases differ", show_diff);
        file(command, options, true);
        command->add_option("other", options->other, "the other one")->required();
        json(command, options);
    }
    {
        const auto [command, options] =
            sub("export", "Write usable records, of a file or of all layers, as a database to ship", export_records);
        file(command, options, false);
        command->add_option("-o,--output", options->out, "file; default: stdout");
        add_filters(*command, *options);
    }
}

}  // namespace msda::cli
