#include "runtime/kernel_resources.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace msda {
namespace {

// The number that ends right before `unit` in the line ("… 16 bytes spill stores …"), or −1.
std::int64_t number_before(std::string_view line, std::string_view unit) {
    const auto at = line.find(unit);
    if (at == std::string_view::npos) return -1;
    auto end = at;
    while (end > 0 && line[end - 1] == ' ') --end;
    auto begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    std::int64_t number = -1;
    std::from_chars(line.data() + begin, line.data() + end, number);
    return number;
}

}  // namespace

std::vector<KernelResources> parse_resources(std::string_view log) {
    std::vector<KernelResources> kernels;
    std::istringstream lines{std::string(log)};
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view entry = "Compiling entry function '";
        if (const auto at = line.find(entry); at != std::string::npos) {
            const auto begin = at + entry.size();
            kernels.emplace_back().name = line.substr(begin, line.find('\'', begin) - begin);
        }
        if (kernels.empty()) continue;
        KernelResources& kernel = kernels.back();
        if (const auto n = number_before(line, "bytes stack frame"); n >= 0) kernel.stack_bytes = n;
        if (const auto n = number_before(line, "bytes spill stores"); n >= 0) kernel.spill_store_bytes = n;
        if (const auto n = number_before(line, "bytes spill loads"); n >= 0) kernel.spill_load_bytes = n;
        if (const auto n = number_before(line, "registers"); n >= 0) kernel.registers = static_cast<int>(n);
        if (const auto n = number_before(line, "bytes smem"); n >= 0) kernel.shared_bytes = n;
    }
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return kernels;
}

}  // namespace msda
