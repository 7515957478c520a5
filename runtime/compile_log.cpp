#include "runtime/compile_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

namespace msda {
namespace {

constexpr int lines_around = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

struct Place {
    std::string_view file;
    int line = 0;
};

// The place in "file(12): error: …", or line 0.
Place place_of_error(std::string_view line) {
    const auto mark = line.find("): error");
    const auto fatal = line.find("): catastrophic error");
    const auto close = std::min(mark, fatal);
    if (close == std::string_view::npos) return {};
    const auto open = line.rfind('(', close);
    if (open == std::string_view::npos) return {};
    Place place{line.substr(0, open), 0};
    std::from_chars(line.data() + open + 1, line.data() + close, place.line);
    return place;
}

std::string excerpt(const SourceText& source, int line) {
    const auto lines = lines_of(source.text);
    const int count = static_cast<int>(lines.size());
    std::string text = fmt::format("\n{}:\n", source.name);
    for (int i = std::max(1, line - lines_around); i <= std::min(count, line + lines_around); ++i)
        text += fmt::format("{} {:4} | {}\n", i == line ? '>' : ' ', i, lines[static_cast<std::size_t>(i - 1)]);
    return text;
}

// Logs may name a file by a longer or shorter path than the include did.
bool same_file(std::string_view a, std::string_view b) {
    if (a.size() < b.size()) std::swap(a, b);
    return !b.empty() && a.ends_with(b) && (a.size() == b.size() || a[a.size() - b.size() - 1] == '/');
}

}  // namespace

std::string explain_log(std::string_view log, std::span<const SourceText> sources) {
    std::string text(log);
    std::set<std::pair<std::string_view, int>> shown;
    for (const std::string_view line : lines_of(log)) {
        const Place place = place_of_error(line);
        if (place.line <= 0) continue;
        for (const SourceText& source : sources)
            if (same_file(source.name, place.file) && shown.emplace(source.name, place.line).second)
                text += excerpt(source, place.line);
    }
    return text;
}

}  // namespace msda
