// msda shapes: the model shapes that --shape knows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "runtime/shapes.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/table.hpp"

namespace msda::cli {
namespace {

std::string levels_text(const ModelShape& shape) {
    std::vector<std::string> levels;
    for (const Level& level : shape.levels) levels.push_back(fmt::format("{}x{}", level.height, level.width));
    return fmt::format("{}", fmt::join(levels, ","));
}

Json to_json(const ModelShape& shape) {
    Json levels = Json::array();
    for (const Level& level : shape.levels) levels.push_back({level.height, level.width});
    return {{"id", shape.id},
            {"model", shape.model},
            {"role", shape.role},
            {"batch", shape.batch},
            {"queries", shape.queries},
            {"heads", shape.heads},
            {"head_dim", shape.head_dim},
            {"levels", levels},
            {"points", shape.points},
            {"sampling", name(shape.sampling)},
            {"source", shape.source},
            {"note", shape.note}};
}

void list(Session& session, bool json) {
    if (json) {
        Json all = Json::array();
        for (const ModelShape& shape : model_shapes()) all.push_back(to_json(shape));
        session.out() << all.dump(2) << '\n';
        return;
    }
    Table table({"shape", "model", "role", "B", "Q", "M", "D", "levels", "points", "sampling"});
    for (const ModelShape& s : model_shapes())
        table.add({std::string(s.id), std::string(s.model), std::string(s.role), std::to_string(s.batch),
                   std::to_string(s.queries), std::to_string(s.heads), std::to_string(s.head_dim), levels_text(s),
                   fmt::format("{}", fmt::join(s.points, ",")), std::string(name(s.sampling))});
    table.print(session.out());
}

}  // namespace

void add_shapes(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("shapes", "List the model shapes that --shape knows");
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "a JSON array on stdout, with the source of each shape");
    command->callback([json, &session] { list(session, *json); });
}

}  // namespace msda::cli
