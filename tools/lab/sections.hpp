// The learner's text, taken apart into the sections that stages are about, so that any of them can be exchanged for the
// reference solution's.
//
//     // >>> footprint          a section begins
//     // <<< footprint          and ends
//     // <-- 05/footprint       here the checker puts a section of another lab
//
// A section that still holds the word LAB_TODO has not been attempted.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace msda::lab {

// A section: its lines between the marks, and the number of the first of them in its file.
struct Section {
    std::string file;
    int line = 0;
    std::string text;

    bool attempted() const { return text.find("LAB_TODO") == std::string::npos; }
};

// The sections of a text by name. `file` is what compilers shall call it. Throws Error(bad_file) with file and line
// when a mark has no partner or a name comes twice.
std::map<std::string, Section> sections(std::string_view text, const std::string& file);

// The text with each section, and each section asked for by "<--", replaced by what `choose` returns for its name
// ("footprint" or "05/footprint"). #line marks keep compilers' messages at the place in the file that a line is from.
std::string compose(std::string_view text, const std::string& file,
                    const std::function<Section(const std::string& name)>& choose);

}  // namespace msda::lab
