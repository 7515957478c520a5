#include "tools/lab/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "msda/error.hpp"

namespace fs = std::filesystem;

namespace msda::lab {
namespace {

bool is_lab_folder(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return entry.is_directory() && name.size() > 3 && std::isdigit(static_cast<unsigned char>(name[0])) != 0 &&
           std::isdigit(static_cast<unsigned char>(name[1])) != 0 && name[2] == '-';
}

std::vector<fs::path> lab_folders(const fs::path& root) {
    std::vector<fs::path> folders;
    std::error_code failed;
    for (fs::directory_iterator entry(root, failed), end; !failed && entry != end; entry.increment(failed))
        if (is_lab_folder(*entry)) folders.push_back(entry->path());
    if (failed) throw Error(Code::io_failed, fmt::format("labs: cannot list {}: {}", root.string(), failed.message()));
    std::sort(folders.begin(), folders.end());
    return folders;
}

Stage stage_of(const nlohmann::json& json) {
    Stage stage;
    stage.name = json.at("name").get<std::string>();
    stage.section = json.value("section", stage.name);
    stage.title = json.at("title").get<std::string>();
    stage.hints = json.at("hints").get<std::vector<std::string>>();
    return stage;
}

}  // namespace

std::string read_text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Error(Code::io_failed, fmt::format("labs: cannot read {}", file.string()));
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lab_numbers(const fs::path& root) {
    std::vector<std::string> numbers;
    for (const fs::path& folder : lab_folders(root)) numbers.push_back(folder.filename().string().substr(0, 2));
    return numbers;
}

Lab load_lab(const fs::path& root, const std::string& number) {
    const std::string wanted = number.size() == 1 ? "0" + number : number;
    const std::vector<fs::path> folders = lab_folders(root);
    const auto folder = std::find_if(folders.begin(), folders.end(),
                                     [&](const fs::path& f) { return f.filename().string().substr(0, 2) == wanted; });
    if (folder == folders.end())
        throw Error(Code::invalid_argument, fmt::format("labs: expected one of the labs {}, got \"{}\"",
                                                        fmt::join(lab_numbers(root), ", "), number));
    try {
        const auto json = nlohmann::json::parse(read_text(*folder / "lab.json"));
        Lab lab{
            wanted, json.at("title").get<std::string>(), *folder, json.at("files").get<std::vector<std::string>>(), {}};
        for (const auto& stage : json.at("stages")) lab.stages.push_back(stage_of(stage));
        return lab;
    } catch (const nlohmann::json::exception& error) {
        throw Error(Code::bad_file, fmt::format("labs: {}: {}", (*folder / "lab.json").string(), error.what()));
    }
}

}  // namespace msda::lab
