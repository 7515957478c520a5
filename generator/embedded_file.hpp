// A text file that the build put inside the library.
#pragma once

#include <string_view>

namespace msda {

// The file's path below a root that its function names, and its whole text; both live as long as the program.
struct EmbeddedFile {
    std::string_view name;
    std::string_view text;
};

}  // namespace msda
