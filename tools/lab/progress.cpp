#include "tools/lab/progress.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "tools/lab/lab.hpp"
#include "tuning_db/file_system.hpp"

namespace msda::lab {
namespace {

std::string digest(const std::string& text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

}  // namespace

Progress::Progress(const std::filesystem::path& root) : file_(root / ".progress.json") {
    std::string text;
    if (FileSystem().read(file_.string(), text)) return;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return;
    for (const auto& [check, entry] : json.items())
        if (entry.is_object() && entry.contains("failures") && entry.contains("passed") &&
            entry["failures"].is_number_integer() && entry["passed"].is_string())
            entries_[check] = {entry["failures"].get<int>(), entry["passed"].get<std::string>()};
}

int Progress::failed(const std::string& check) { return ++entries_[check].failures; }

void Progress::passed(const std::string& check, const std::string& section_text) {
    entries_[check] = {0, digest(section_text)};
}

bool Progress::has_passed(const std::string& check, const std::string& section_text) const {
    const auto entry = entries_.find(check);
    return entry != entries_.end() && entry->second.passed == digest(section_text);
}

void Progress::save() const noexcept {
    try {
        nlohmann::json json = nlohmann::json::object();
        for (const auto& [check, entry] : entries_)
            json[check] = {{"failures", entry.failures}, {"passed", entry.passed}};
        static_cast<void>(FileSystem().write_atomically(file_.string(), json.dump(1) + "\n", 0644));
    } catch (...) {  // out of memory: nothing is remembered
    }
}

}  // namespace msda::lab
