// The msda command as a process, with a cache of its own and none of this user's databases.
#pragma once

#include <string>
#include <vector>

#include "tests/fakes/temporary_directory.hpp"
#include "tests/paths.hpp"
#include "tools/cli/process.hpp"

namespace msda::test {

class Command {
  public:
    Command() { cli::run_process({"mkdir", "-p", directory_ / "home"}); }

    // Runs `msda arguments…` and waits for its end.
    cli::ProcessResult operator()(const std::vector<std::string>& arguments,
                                  std::vector<std::pair<std::string, std::string>> environment = {}) const {
        std::vector<std::string> words{std::string(tool_path())};
        words.insert(words.end(), arguments.begin(), arguments.end());
        environment.emplace_back("HOME", directory_ / "home");
        environment.emplace_back("XDG_CACHE_HOME", directory_ / "cache");
        environment.emplace_back("XDG_DATA_HOME", directory_ / "data");
        environment.emplace_back("MSDA_CPU_THREADS", "2");
        return cli::run_process(words, environment);
    }

    // A file or folder in a directory that goes away with this object.
    std::string path(const std::string& name) const { return directory_ / name; }

  private:
    fakes::TemporaryDirectory directory_;
};

// A problem small enough for every device: two levels, uneven for a decoder.
inline std::vector<std::string> with_small_problem(std::vector<std::string> words) {
    for (const char* word :
         {"--levels", "6x7,3x4", "--queries", "5", "--heads", "2", "--head-dim", "8", "--points", "2"})
        words.emplace_back(word);
    return words;
}

}  // namespace msda::test
