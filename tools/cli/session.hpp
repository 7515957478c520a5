// What the subcommands of one process share: the two output streams and the runtime, made only when a command needs it.
#pragma once

#include <memory>
#include <mutex>
#include <ostream>
#include <string>

#include "msda/msda.hpp"

namespace msda::cli {

class Session {
  public:
    // The streams must outlive the session. `terminal`: people watch `err`, so progress is worth printing.
    Session(std::ostream& out, std::ostream& err, bool terminal) : out_(out), err_(err), terminal_(terminal) {}

    // Results only: tables for people or one JSON document.
    std::ostream& out() const { return out_; }
    // Progress, notices and errors.
    std::ostream& err() const { return err_; }
    bool terminal() const { return terminal_; }

    // Made at the first call from the environment. Throws what Runtime's constructor throws.
    Runtime& runtime();

    // The device that "auto", "gpu", "gpu:N", "cpu" or "emulate" names; auto is the first GPU, or the CPU where there
    // is none. Throws Error(invalid_argument) for another word.
    Device device(const std::string& text);

  private:
    std::ostream& out_;
    std::ostream& err_;
    bool terminal_;
    std::once_flag runtime_made_;  // commands compile on several threads, any of which may be the first to ask
    std::unique_ptr<Runtime> runtime_;
};

// "gpu", "cpu" or "emulate": what --device calls it and what results say.
const char* device_name(Device device);

}  // namespace msda::cli
