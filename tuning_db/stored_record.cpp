// Reading of a record's key from its line, and the set of stored records; index_database is in database_text.cpp.
#include "tuning_db/stored_record.hpp"

#include <optional>

#include "msda/error.hpp"
#include "tuning_db/schema.hpp"

namespace msda {
namespace {

// What stands between `before` and the next `after`, nothing where one of them is missing. In a line of to_line a quote
// inside a text is escaped, so that `before`, which holds bare quotes, is found as a key only.
std::optional<std::string_view> between(std::string_view line, std::string_view before, char after) {
    const std::size_t start = line.find(before);
    if (start == std::string_view::npos) return std::nullopt;
    const std::size_t end = line.find(after, start + before.size());
    if (end == std::string_view::npos) return std::nullopt;
    return line.substr(start + before.size(), end - start - before.size());
}

// The key of a line whose digest fits, nothing where the line has to be read as a whole.
std::optional<Database::Key> key_of_line(std::string_view line, int schema) {
    if (schema != current_schema || !is_intact(line)) return std::nullopt;
    const auto problem = between(line, R"("problem":")", '"');
    const auto silicon = between(line, R"("silicon":)", '}');
    if (!problem || problem->find('\\') != std::string_view::npos || !silicon) return std::nullopt;
    return Database::Key{std::string(*problem), parse_silicon(std::string(*silicon) + '}')};
}

}  // namespace

StoredRecord::StoredRecord(Record record) : content_(rounded(std::move(record))) {
    const Record& held = std::get<Record>(content_);
    key_ = {held.problem, held.silicon};
}

StoredRecord::StoredRecord(std::string_view line, int schema) {
    if (auto key = key_of_line(line, schema)) {
        key_ = std::move(*key);
        content_ = std::string(line);
    } else {
        *this = StoredRecord(parse_line(line, schema));
    }
}

Record StoredRecord::record() const {
    if (const Record* held = std::get_if<Record>(&content_)) return *held;
    return rounded(parse_line(std::get<std::string>(content_), current_schema));
}

bool StoredRecords::add(StoredRecord record) {
    const auto [at, added] = records_.try_emplace(record.key(), record);
    if (added) return true;
    const Record held = at->second.record(), offered = record.record();
    if (held == offered || !better(offered, held)) return false;
    at->second = std::move(record);
    return true;
}

void StoredRecords::merge(const StoredRecords& other) {
    for (const auto& [key, record] : other.records_) add(record);
}

Database StoredRecords::database() const {
    Database database;
    for (const auto& [key, record] : records_) try {
            database.add(record.record());
        } catch (const Error&) {
        }
    return database;
}

}  // namespace msda
