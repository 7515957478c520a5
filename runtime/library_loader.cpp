#include "runtime/library_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

#include "runtime/environment.hpp"

namespace msda {
namespace {

std::shared_ptr<void> open_library(const std::string& path, bool only_loaded, std::string& error) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (only_loaded ? RTLD_NOLOAD : 0));
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        error = reason != nullptr ? reason : "not loaded";
        return nullptr;
    }
    // Never closed: driver and compiler keep threads and exit handlers of their own, which unloading would pull away.
    return {handle, [](void*) {}};
}

std::string file_of_address(const void* address) {
    Dl_info info{};
    return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::vector<std::string> files_in_maps() {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> files;
    for (std::string line; std::getline(maps, line);)
        if (const auto slash = line.find('/'); slash != std::string::npos) files.insert(line.substr(slash));
    return {files.begin(), files.end()};
}

}  // namespace

std::string describe(const Attempts& attempts) {
    std::string text;
    for (const Attempt& attempt : attempts)
        text += fmt::format("  {} ({}): {}\n", attempt.path, attempt.origin, attempt.outcome);
    return text;
}

LibraryLoader LibraryLoader::real() {
    LibraryLoader loader;
    loader.open = open_library;
    loader.symbol = [](void* library, const char* name) { return ::dlsym(library, name); };
    loader.file_of = file_of_address;
    loader.mapped_files = files_in_maps;
    loader.environment = environment_variable;
    return loader;
}

}  // namespace msda
