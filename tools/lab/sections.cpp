#include "tools/lab/sections.hpp"

#include <fmt/format.h>

#include <vector>

#include "msda/error.hpp"

namespace msda::lab {
namespace {

struct Mark {
    enum class Kind { none, begin, end, use } kind = Kind::none;
    std::string name;
};

Mark mark_of(std::string_view line) {
    const auto from = line.find_first_not_of(" \t");
    if (from == std::string_view::npos) return {};
    line.remove_prefix(from);
    const auto name = [&] {
        const auto first = line.find_first_not_of(' ', 6), last = line.find_last_not_of(" \t\r");
        return first == std::string_view::npos ? std::string() : std::string(line.substr(first, last - first + 1));
    };
    if (line.starts_with("// >>>")) return {Mark::Kind::begin, name()};
    if (line.starts_with("// <<<")) return {Mark::Kind::end, name()};
    if (line.starts_with("// <--")) return {Mark::Kind::use, name()};
    return {};
}

// Calls visit(line with its newline, number, mark).
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
    int number = 1;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
        visit(line, number++, mark_of(line.substr(0, line.find('\n'))));
        text.remove_prefix(line.size());
    }
}

[[noreturn]] void damaged(const std::string& file, int line, const std::string& what) {
    throw Error(Code::bad_file, fmt::format("{}:{}: {}", file, line, what));
}

}  // namespace

std::map<std::string, Section> sections(std::string_view text, const std::string& file) {
    std::map<std::string, Section> all;
    std::string open;
    for_each_line(text, [&](std::string_view line, int number, const Mark& mark) {
        if (mark.kind == Mark::Kind::begin) {
            if (!open.empty())
                damaged(file, number, fmt::format("section {} begins inside section {}", mark.name, open));
            if (!all.emplace(mark.name, Section{file, number + 1, ""}).second)
                damaged(file, number, fmt::format("a second section {}", mark.name));
            open = mark.name;
        } else if (mark.kind == Mark::Kind::end) {
            if (mark.name != open) damaged(file, number, fmt::format("expected the end of section \"{}\"", open));
            open.clear();
        } else if (!open.empty()) {
            all[open].text += line;
        }
    });
    if (!open.empty()) damaged(file, all[open].line, fmt::format("section {} has no end", open));
    return all;
}

std::string compose(std::string_view text, const std::string& file,
                    const std::function<Section(const std::string& name)>& choose) {
    std::string result = fmt::format("#line 1 \"{}\"\n", file);
    const auto put = [&](const std::string& name, int next) {
        const Section section = choose(name);
        result += fmt::format("#line {} \"{}\"\n{}", section.line, section.file, section.text);
        if (!section.text.empty() && section.text.back() != '\n') result += '\n';
        result += fmt::format("#line {} \"{}\"\n", next, file);
    };
    std::string open;
    for_each_line(text, [&](std::string_view line, int number, const Mark& mark) {
        if (mark.kind == Mark::Kind::begin) {
            open = mark.name;
        } else if (mark.kind == Mark::Kind::end) {
            put(open, number + 1);
            open.clear();
        } else if (mark.kind == Mark::Kind::use) {
            put(mark.name, number + 1);
        } else if (open.empty()) {
            result += line;
        }
    });
    return result;
}

}  // namespace msda::lab
