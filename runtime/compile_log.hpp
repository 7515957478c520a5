// A compiler's log made readable where the source never was a file: the lines around each error, numbered.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace msda {

// A text that the compiler saw, by the name that its log uses.
struct SourceText {
    std::string_view name;
    std::string_view text;
};

// The whole log, followed by the source lines around each of its errors ("file(line): error"), each place once.
std::string explain_log(std::string_view log, std::span<const SourceText> sources);

}  // namespace msda
