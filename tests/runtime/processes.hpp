// Programs of tests/programs/ as child processes.
#pragma once

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/paths.hpp"

namespace msda::test {

// Starts a program that lies beside the tests.
inline pid_t start(const std::string& program, std::vector<std::string> arguments) {
    const std::string path = std::string(program_folder()) + "/" + program;
    arguments.insert(arguments.begin(), path);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t process = -1;
    REQUIRE(::posix_spawn(&process, path.c_str(), nullptr, nullptr, pointers.data(), environ) == 0);
    return process;
}

// Waits for its end: the exit status, or 128 + the signal that killed it.
inline int wait_for(pid_t process) {
    int status = 0;
    REQUIRE(::waitpid(process, &status, 0) == process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace msda::test
