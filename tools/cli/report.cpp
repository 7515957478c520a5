// msda report: a tuning database as one HTML page.
#include <fmt/format.h>

#include <memory>

#include "tools/cli/output_file.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/report_page.hpp"
#include "tuning_db/database_file.hpp"

namespace msda::cli {
namespace {

struct ReportOptions {
    std::string file, out, title = "msda tuning report";
};

void write_report(Session& session, const ReportOptions& options) {
    const FileSystem files;
    const ParsedDatabase parsed = load_database(files, options.file);
    std::vector<std::string> complaints = parsed.complaints;
    const std::vector<TrialSet> trials = load_trials(files, options.file, complaints);
    for (const std::string& complaint : complaints) session.err() << fmt::format("msda: warning: {}\n", complaint);
    const std::string page = report_page(options.title, parsed.database, trials);
    if (options.out.empty())
        session.out() << page;
    else
        write_output(options.out, page);
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
    CLI::App* command =
        app.add_subcommand("report", "A database and all configs its searches saw, as one HTML page with plots");
    const auto options = std::make_shared<ReportOptions>();
    command->add_option("database", options->file, "a tuning database; DATABASE.trials beside it holds the configs")
        ->required();
    command->add_option("-o,--output", options->out, "file; default: stdout");
    command->add_option("--title", options->title, "heading of the page");
    command->callback([options, &session] { write_report(session, *options); });
}

}  // namespace msda::cli
