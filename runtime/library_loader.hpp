// Shared libraries opened at run time: the dynamic linker behind a seam, and the list of what was tried for people to
// read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace msda {

// One path tried for a library, where it came from, and what came of it.
struct Attempt {
    std::string path;
    std::string origin;   // "MSDA_NVRTC", "toolkit", "dynamic linker", …
    std::string outcome;  // "taken", or why not
};
using Attempts = std::vector<Attempt>;

// One line an attempt: "  path (origin): outcome".
std::string describe(const Attempts& attempts);

// What is needed of the dynamic linker and the surroundings; tests replace any of it.
struct LibraryLoader {
    // Opens a library (RTLD_NOW | RTLD_LOCAL); null with `error` filled on failure. `only_loaded`: only if it is in the
    // process already.
    std::function<std::shared_ptr<void>(const std::string& path, bool only_loaded, std::string& error)> open;
    std::function<void*(void* library, const char* name)> symbol;
    // The file that an address was loaded from, empty when unknown.
    std::function<std::string(const void* address)> file_of;
    // Files mapped into this process (/proc/self/maps), each once.
    std::function<std::vector<std::string>()> mapped_files;
    // An environment variable, empty when unset.
    std::function<std::string(const char* name)> environment;

    static LibraryLoader real();
};

}  // namespace msda
