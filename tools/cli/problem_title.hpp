// A problem's name for tables and headings.
#pragma once

#include <string>

namespace msda::cli {

// "ddetr-enc forward f16" where sizes are those of a shipped shape, else "forward f16 B=2 Q=300 M=8 D=32 100x167,…
// P=4"; the text itself where this version cannot read it. `problem` is a canonical text.
std::string title_of(const std::string& problem);

}  // namespace msda::cli
