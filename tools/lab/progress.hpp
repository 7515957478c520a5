// What the checker remembers between calls: how often each stage has failed in a row, and which text of each section
// passed last. One JSON file in the folder of the labs.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace msda::lab {

class Progress {
  public:
    // Reads `root`/.progress.json; a missing or damaged file is an empty memory.
    explicit Progress(const std::filesystem::path& root);

    // `check` is "05/footprint". Failing checks in a row, this one counted.
    int failed(const std::string& check);
    void passed(const std::string& check, const std::string& section_text);
    // True when exactly this text passed the check.
    bool has_passed(const std::string& check, const std::string& section_text) const;

    // Writes the file; a folder that cannot be written to is no error, the memory is a comfort.
    void save() const noexcept;

  private:
    struct Entry {
        int failures = 0;
        std::string passed;  // digest of the text
    };
    std::filesystem::path file_;
    std::map<std::string, Entry> entries_;
};

}  // namespace msda::lab
