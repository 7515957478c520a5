#include "runtime/emulation/host_compiler.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "runtime/emulation/sanitizers.hpp"
#include "runtime/emulation_files.hpp"

extern char** environ;

namespace msda::emulation {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::string_view text) {
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw Error(Code::io_failed, fmt::format("emulation: cannot write {}", path.string()));
}

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool executable(const fs::path& path) { return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0; }

// The first executable of that name in the directories of PATH; a name with a slash stands for itself.
std::string on_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return executable(name) ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');)
        if (!directory.empty() && executable(fs::path(directory) / name)) return (fs::path(directory) / name).string();
    return "";
}

std::vector<std::string> usual_compilers() {
    if constexpr (!under_asan && !under_tsan) return {"c++", "g++", "clang++"};
#ifdef __clang__
    return {"clang++", "c++", "g++"};
#else
    return {"g++", "c++", "clang++"};
#endif
}

// -fno-strict-aliasing, because kernels read memory as raw words; no contraction, so that results do not depend on the
// processor.
std::vector<std::string> module_flags() {
    std::vector<std::string> flags = {"-std=c++20",
                                      "-O1",
                                      "-shared",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-fno-strict-aliasing",
                                      "-ffp-contract=off",
                                      "-Wno-unknown-pragmas",
                                      "-DMSDA_EMULATE"};
    if constexpr (under_asan) {
        // A stack of AddressSanitizer's own for each of a block's hundreds of fibers would cost gigabytes of addresses.
        flags.insert(flags.end(), {"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                                   "-fno-sanitize=vptr", "-fno-omit-frame-pointer"});
#ifdef __clang__
        flags.emplace_back("-fsanitize-address-use-after-return=never");
#else
        flags.insert(flags.end(), {"--param", "asan-use-after-return=0"});
#endif
    }
    if constexpr (under_tsan) flags.insert(flags.end(), {"-g", "-fsanitize=thread", "-fno-omit-frame-pointer"});
    return flags;
}

// Runs a program with its output in `log`; returns its exit status, or 128 + signal.
int run_program(std::vector<std::string> arguments, const fs::path& log) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        throw Error(Code::unsupported, fmt::format("cannot start {}: {}", arguments[0], std::strerror(failed)));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            throw Error(Code::io_failed, fmt::format("waiting for {}: {}", arguments[0], std::strerror(errno)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

PrivateDirectory::PrivateDirectory() {
    std::error_code failed;
    std::string name = (fs::temp_directory_path(failed) / "msda-emulation-XXXXXX").string();
    if (failed || mkdtemp(name.data()) == nullptr)
        throw Error(Code::io_failed, fmt::format("cannot make a directory {}: {} (TMPDIR names another place)", name,
                                                 std::strerror(errno)));
    path_ = name;
}

PrivateDirectory::~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

std::string find_host_compiler(const std::string& named) {
    const char* variable = std::getenv("MSDA_HOST_CXX");
    const std::string wanted = !named.empty() ? named : variable != nullptr ? variable : "";
    if (!wanted.empty()) {
        std::string found = on_path(wanted);
        if (found.empty())
            throw Error(
                Code::unsupported,
                fmt::format("emulation needs a C++20 compiler: MSDA_HOST_CXX names {}, which is no program", wanted));
        return found;
    }
    for (const std::string& name : usual_compilers())
        if (std::string found = on_path(name); !found.empty()) return found;
    throw Error(
        Code::unsupported,
        "emulation needs a C++20 compiler: no c++, g++ or clang++ on PATH; install one or name it in MSDA_HOST_CXX");
}

fs::path build_module(const std::string& compiler, std::string_view source, const std::vector<std::string>& flags,
                      const PrivateDirectory& directory) {
    const fs::path& root = directory.path();
    for (const auto& file : template_files()) write_file(root / file.name, file.text);
    for (const auto& file : emulation_files()) write_file(root / file.name, file.text);
    write_file(root / "kernel.cpp", source);
    std::vector<std::string> arguments = {compiler};
    for (std::string& flag : module_flags()) arguments.push_back(std::move(flag));
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    // -include looks in the working directory first, where another copy of the header may lie.
    arguments.insert(arguments.end(),
                     {"-I", root.string(), "-include", (root / "runtime/emulation/emulation.hpp").string(), "-o",
                      (root / "kernel.so").string(), (root / "kernel.cpp").string(), "-lm"});
    const int status = run_program(arguments, root / "log");
    if (status != 0)
        throw Error(Code::compile_failed,
                    fmt::format("{} cannot compile the emitted source for emulation (status {})", compiler, status),
                    read_file(root / "log"));
    return root / "kernel.so";
}

}  // namespace msda::emulation
