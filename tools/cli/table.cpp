// Widths are counted in characters, not in bytes, since "µs" is two of one and three of the other.
#include "tools/cli/table.hpp"

#include <algorithm>

namespace msda::cli {
namespace {

std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

bool numeric(const std::string& text) {
    return text.empty() || text == "-" ||
           (text.find_first_of("0123456789") != std::string::npos &&
            text.find_first_not_of("0123456789.+-e") == std::string::npos) ||
           text == "nan" || text == "inf";
}

std::string padding(std::size_t width, const std::string& text) { return std::string(width - characters(text), ' '); }

}  // namespace

void Table::print(std::ostream& out) const {
    const std::size_t columns = header_.size();
    std::vector<std::size_t> width(columns);
    std::vector<bool> right(columns, true);
    for (std::size_t i = 0; i < columns; i++) {
        width[i] = characters(header_[i]);
        for (const auto& row : rows_) {
            width[i] = std::max(width[i], characters(row[i]));
            if (!numeric(row[i])) right[i] = false;
        }
    }
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text;
        for (std::size_t i = 0; i < columns; i++) {
            if (i > 0) text += "  ";
            if (right[i]) text += padding(width[i], cells[i]);
            text += cells[i];
            if (!right[i]) text += padding(width[i], cells[i]);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out << text << '\n';
    };
    line(header_);
    for (const auto& row : rows_) line(row);
}

}  // namespace msda::cli
