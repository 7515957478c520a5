// The `msda` command as a function.
#pragma once

#include "tools/cli/session.hpp"

namespace msda::cli {

// The whole command: parses, runs one subcommand, prints errors on the session's err. Returns the exit code.
int run_command(int argc, const char* const* argv, Session& session);

}  // namespace msda::cli
