#include "tools/lab/race.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "msda/error.hpp"
#include "tools/cli/process.hpp"

namespace fs = std::filesystem;

namespace msda::lab {
namespace {

constexpr int race_status = 66;

// The lines of a report that name what happened and where in the learner's file.
std::string essence(const std::string& report, const std::string& lab_folder) {
    std::istringstream lines(report);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        const bool headline = line.find("data race") != std::string::npos && line.find("WARNING") != std::string::npos;
        const bool access = line.find(" of size ") != std::string::npos;
        const bool own = line.find(lab_folder) != std::string::npos && line.find("msda_emulated_") == std::string::npos;
        if (headline || access || own) result += line + "\n";
    }
    return result;
}

}  // namespace

std::string struct_argument(const void* bytes, std::size_t count) {
    std::string text = "s:";
    for (std::size_t i = 0; i < count; i++) text += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
    return text;
}

void expect_no_race(Attempt& attempt, const std::string& kernel, std::uint32_t blocks, int threads,
                    std::size_t shared_bytes, const std::vector<std::string>& arguments, const std::string& result) {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "msda-lab-race";
    if (!fs::exists(program)) {
        attempt.notes.push_back("not run under ThreadSanitizer: this build has no msda-lab-race");
        return;
    }
    const std::string source = (fs::path(attempt.folder) / "race.cpp").string();
    std::ofstream(source, std::ios::binary) << attempt.source;
    std::vector<std::string> words = {program.string(),
                                      source,
                                      kernel,
                                      std::to_string(blocks),
                                      std::to_string(threads),
                                      std::to_string(shared_bytes)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.emplace_back("--");
    words.insert(words.end(), attempt.flags.begin(), attempt.flags.end());
    const cli::ProcessResult ran = cli::run_process(words);
    // A kernel that lays out addresses in a way ThreadSanitizer cannot work with.
    if (ran.err.find("FATAL: ThreadSanitizer") != std::string::npos) {
        attempt.notes.push_back("ThreadSanitizer does not run on this machine: " + ran.err.substr(0, 200));
        return;
    }
    if (ran.status == race_status)
        throw Failed(fmt::format("{}: {}; ThreadSanitizer sees a race:\n{}", kernel, result,
                                 essence(ran.err, attempt.lab_folder)));
    if (ran.status != 0) throw Failed(fmt::format("{} under ThreadSanitizer: {}", kernel, ran.err));
}

}  // namespace msda::lab
