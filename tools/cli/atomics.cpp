// Line by line: a kernel's name, then instructions, each perhaps behind a predicate.
#include "tools/cli/atomics.hpp"

#include <map>
#include <optional>
#include <utility>

namespace msda::cli {
namespace {

using Counts = std::map<std::pair<std::string, std::string>, int>;

std::string_view trimmed(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

std::string_view word(std::string_view text) { return text.substr(0, text.find_first_of(" \t;(,{")); }

// What follows `mark` in a line, or nothing.
std::optional<std::string_view> after(std::string_view line, std::string_view mark) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    return line.substr(at + mark.size());
}

// An instruction without its "/*0040*/" address and "@P0 " predicate.
std::string_view instruction(std::string_view line) {
    line = trimmed(line);
    if (line.starts_with("/*"))
        if (const auto rest = after(line, "*/")) line = trimmed(*rest);
    if (line.starts_with('@')) {
        const std::size_t space = line.find_first_of(" \t");
        line = space == std::string_view::npos ? std::string_view() : trimmed(line.substr(space));
    }
    return line;
}

template <class Name, class Atomic>
std::vector<AtomicCount> count(std::string_view text, const Name& name, const Atomic& atomic) {
    Counts counts;
    std::string kernel;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (const std::optional<std::string> found = name(line)) kernel = *found;
        const std::string_view opcode = word(instruction(line));
        if (atomic(opcode)) counts[{kernel, std::string(opcode)}]++;
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    std::vector<AtomicCount> result;
    for (const auto& [key, number] : counts) result.push_back({key.first, key.second, number});
    return result;
}

}  // namespace

std::vector<AtomicCount> atomics_in_ptx(std::string_view ptx) {
    return count(
        ptx,
        [](std::string_view line) -> std::optional<std::string> {
            if (const auto rest = after(line, ".entry ")) return std::string(word(*rest));
            return std::nullopt;
        },
        [](std::string_view opcode) { return opcode.starts_with("red.") || opcode.starts_with("atom."); });
}

std::vector<AtomicCount> atomics_in_sass(std::string_view sass) {
    return count(
        sass,
        [](std::string_view line) -> std::optional<std::string> {
            if (const auto rest = after(line, "Function : ")) return std::string(word(*rest));
            if (const auto rest = after(line, ".section\t.text.")) return std::string(word(*rest));
            return std::nullopt;
        },
        [](std::string_view opcode) {
            return opcode.starts_with("RED.") || opcode.starts_with("REDG") || opcode.starts_with("ATOM");
        });
}

}  // namespace msda::cli
