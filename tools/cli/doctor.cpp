// msda doctor: what was looked for and what was found.
#include "tools/cli/registry.hpp"

namespace msda::cli {

void add_doctor(CLI::App& app, Session& session) {
    CLI::App* command =
        app.add_subcommand("doctor", "Show driver, NVRTC, devices and cache: each path tried and what came of it");
    command->callback([&session] { session.out() << session.runtime().doctor(); });
}

}  // namespace msda::cli
