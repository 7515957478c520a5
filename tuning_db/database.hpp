// A set of records, at most one a problem and silicon, and its text: valid JSON, one record a line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuning_db/record.hpp"

namespace msda {

// Records keyed by problem text and silicon; where two meet, the better one stays (record.hpp), so any order of adding
// and merging ends in the same set.
class Database {
  public:
    using Key = std::pair<std::string, SiliconKey>;

    // Takes the record, times rounded, unless a better one is there; true when it was taken. Throws
    // Error(invalid_argument) on a time that is not positive.
    bool add(Record record);

    void merge(const Database& other);

    // nullptr when there is none; valid until the next add or merge.
    const Record* find(const std::string& problem, const SiliconKey& silicon) const;

    const std::map<Key, Record>& records() const { return records_; }
    std::size_t size() const { return records_.size(); }
    bool operator==(const Database&) const = default;

    // Digest over all records, 32 hexadecimal digits: equal on every node that sees the same records.
    std::string hash() const;

  private:
    std::map<Key, Record> records_;
};

// The file's text: a header line with the schema, one record a line, a closing line. Byte-identical for equal
// databases.
std::string to_text(const Database& database);

// What parse_database made of a text.
struct ParsedDatabase {
    Database database;
    std::vector<std::string> complaints;  // "FILE:LINE: why" of each line that was skipped; past 100, their number
    int schema = 0;                       // of the text
};

// Reads a database's text; `name` stands in messages. A bad record is skipped with a complaint, the others stay usable,
// an older schema is migrated. Throws Error(bad_file) when the header is damaged or of a newer schema.
ParsedDatabase parse_database(std::string_view text, const std::string& name);

}  // namespace msda
