#include "tests/nvrtc/disassembler.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace msda::test {
namespace {

// The command up to the cubin's path; "" where no tool is named.
std::string tool() {
    for (const auto& [variable, option] :
         {std::pair{"MSDA_TEST_NVDISASM", " -c -ndf "}  // without its analysis of branches: half the time
          ,
          std::pair{"MSDA_TEST_CUOBJDUMP", " -sass "}})
        if (const char* path = std::getenv(variable); path != nullptr && *path != '\0')
            return "'" + std::string(path) + "'" + option;
    return "";
}

}  // namespace

bool can_disassemble() { return !tool().empty(); }

std::optional<std::string> disassemble(const std::string& cubin) {
    static std::atomic<int> calls = 0;
    const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                       ("msda_nvrtc_" + std::to_string(getpid()) + "_" + std::to_string(++calls));
    std::ofstream(path, std::ios::binary) << cubin;
    std::FILE* pipe = popen((tool() + "'" + path.string() + "' 2>/dev/null").c_str(), "r");
    std::string text;
    int status = -1;
    if (pipe != nullptr) {
        std::array<char, 1 << 16> part{};
        for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
        status = pclose(pipe);
    }
    std::filesystem::remove(path);
    if (status != 0 || text.find("EXIT") == std::string::npos) return std::nullopt;
    return text;
}

}  // namespace msda::test
