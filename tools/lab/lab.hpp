// What a lab consists of: a folder NN-name with lab.json (stages and hints), the learner's files and a solution of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace msda::lab {

// One thing to get right. Checked by the function that checks.hpp has under "NN/name".
struct Stage {
    std::string name;     // as in the command line and in the progress file
    std::string section;  // the part of the learner's text that it is about; several stages may share one
    std::string title;    // one line for the table
    std::vector<std::string> hints;  // shown one more after each failing check
};

struct Lab {
    std::string number;  // "05"
    std::string title;
    std::filesystem::path folder;
    std::vector<std::string> files;  // the learner's; the first is compiled, the others are included by it
    std::vector<Stage> stages;       // in the order in which they build on each other

    // "05/footprint".
    std::string check_name(const Stage& stage) const { return number + "/" + stage.name; }
};

// The lab in the folder `root`/NN-*; `number` may be "5" or "05". Throws Error: invalid_argument (no such lab),
// bad_file (lab.json is damaged), io_failed.
Lab load_lab(const std::filesystem::path& root, const std::string& number);

// The numbers of all labs below `root`, rising.
std::vector<std::string> lab_numbers(const std::filesystem::path& root);

// The whole file; throws Error(io_failed) naming it.
std::string read_text(const std::filesystem::path& file);

}  // namespace msda::lab
