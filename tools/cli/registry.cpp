// The list of subcommands, and how their failures become exit codes.
#include "tools/cli/registry.hpp"

#include <fmt/format.h>

#include <new>

#include "tools/cli/run_command.hpp"

namespace msda::cli {
namespace {

constexpr AddCommand commands[] = {
    add_run,  add_verify, add_bench,  add_compile, add_inspect, add_tune,   add_db,
    add_pack, add_report, add_shapes, add_cache,   add_doctor,  add_worker,
};

constexpr const char* footer =
    "Exit codes: 0 done, 1 problem outside the operator's rules, 2 bad option or argument, 3 not supported here,\n"
    "4 no driver, 5 no NVRTC, 6 compile failed, 7 driver failed, 8 not prepared, 9 out of memory, 10 file cannot be\n"
    "read or written, 11 damaged file, 12 a result differs from the reference, 13 interrupted, 70 internal error.\n"
    "Results go to stdout (tables, or JSON with --json), all else to stderr. See docs/cli.md.";

constexpr int internal_error = 70;  // EX_SOFTWARE of sysexits.h

int report(Session& session, const Error& error) {
    session.err() << fmt::format("msda: error: {}\n", error.what());
    if (!error.log().empty()) session.err() << error.log() << (error.log().back() == '\n' ? "" : "\n");
    return static_cast<int>(error.code());
}

int parse(CLI::App& app, int argc, const char* const* argv, Session& session) {
    try {
        app.parse(argc, argv);
        return 0;
    } catch (const CLI::Success& help) {
        return app.exit(help, session.out(), session.err());
    } catch (const CLI::ParseError& error) {
        const auto chosen = app.get_subcommands();
        const bool unknown = chosen.empty() && argc > 1 && argv[1][0] != '-';
        session.err() << fmt::format("msda: error: {}{}\n", error.what(),
                                     unknown ? fmt::format(", and '{}' is none", argv[1]) : "");
        session.err() << fmt::format("Run 'msda {}--help' for what there is.\n",
                                     chosen.empty() ? "" : chosen.front()->get_name() + " ");
        return static_cast<int>(Code::invalid_argument);
    }
}

}  // namespace

void add_all(CLI::App& app, Session& session) {
    for (const AddCommand add : commands) add(app, session);
}

int run_command(int argc, const char* const* argv, Session& session) {
    try {
        CLI::App app("Multi-scale deformable attention, compiled at run time.", "msda");
        app.footer(footer);
        app.set_version_flag("--version", version());
        app.require_subcommand(1);
        add_all(app, session);
        const int code = parse(app, argc, argv, session);
        session.out().flush();
        if (!session.out()) throw Error(Code::io_failed, "standard output: cannot be written");
        return code;
    } catch (const Error& error) {
        session.out().flush();
        return report(session, error);
    } catch (const std::bad_alloc&) {
        session.err() << "msda: error: out of host memory\n";
        return static_cast<int>(Code::out_of_memory);
    } catch (const std::exception& error) {
        session.err() << fmt::format("msda: internal error: {}\n", error.what());
        return internal_error;
    }
}

}  // namespace msda::cli
