// A program started without a shell, its output collected.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace msda::cli {

struct ProcessResult {
    int status = 0;  // exit status; 128 + signal when a signal ended it
    std::string out, err;
};

// Starts `arguments[0]`, found on PATH unless it holds a '/', with the variables of `environment` set on top of this
// process's own, and waits for its end. Its stdin is empty. Throws Error(io_failed) when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment = {});

}  // namespace msda::cli
