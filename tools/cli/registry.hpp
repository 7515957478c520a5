// The subcommands of `msda`. A new one is a file with an add_<name> function, its declaration here, and one line in
// registry.cpp.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/session.hpp"

namespace msda::cli {

// Each adds its subcommand, options and callback to `app`; callback and session live as long as `app`. A callback
// throws Error, whose code is the exit code, after it has printed what there is to print.
using AddCommand = void (*)(CLI::App& app, Session& session);

void add_run(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);
void add_compile(CLI::App& app, Session& session);
void add_inspect(CLI::App& app, Session& session);
void add_shapes(CLI::App& app, Session& session);
void add_cache(CLI::App& app, Session& session);
void add_doctor(CLI::App& app, Session& session);
void add_tune(CLI::App& app, Session& session);
void add_worker(CLI::App& app, Session& session);
void add_db(CLI::App& app, Session& session);
void add_pack(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);

// Adds all of them in the order that --help lists them.
void add_all(CLI::App& app, Session& session);

}  // namespace msda::cli
