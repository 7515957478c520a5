#include "tests/nvrtc/disassembler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace msda::test {
namespace {

std::string named(const char* variable) {
    const char* path = std::getenv(variable);
    return path != nullptr ? path : "";
}

// The commands up to the cubin's path. Without nvdisasm's analysis of branches (-ndf): half the time.
std::vector<std::string> commands() {
    std::vector<std::string> all;
    for (const auto& [variable, options] : {std::pair{"MSDA_TEST_NVDISASM", "-c -ndf"},
                                            {"MSDA_TEST_NVDISASM_12", "-c -ndf"},
                                            {"MSDA_TEST_CUOBJDUMP", "-sass"}})
        if (const std::string path = named(variable); !path.empty())
            all.push_back(fmt::format("'{}' {}", path, options));
    return all;
}

std::optional<std::string> output_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return std::nullopt;
    std::string text;
    std::array<char, 1 << 16> part{};
    for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
    if (pclose(pipe) != 0) return std::nullopt;
    return text;
}

}  // namespace

bool can_disassemble() { return !commands().empty(); }

int oldest_disassembled() { return named("MSDA_TEST_NVDISASM_12").empty() ? 75 : 50; }

std::optional<std::string> disassemble(const std::string& cubin) {
    static std::atomic<int> calls = 0;
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("msda_nvrtc_{}_{}", getpid(), ++calls);
    std::ofstream(path, std::ios::binary) << cubin;
    std::optional<std::string> text;
    for (const std::string& command : commands()) {
        text = output_of(fmt::format("{} '{}' 2>/dev/null", command, path.string()));
        if (text && text->find("EXIT") != std::string::npos) break;
        text.reset();
    }
    std::filesystem::remove(path);
    return text;
}

}  // namespace msda::test
