// The `msda` command.
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "tools/cli/run_command.hpp"

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error message and exit code 10, not a silent death
    msda::cli::Session session(std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
    return msda::cli::run_command(argc, argv, session);
}
