// Records as a lookup holds them: whose each is, and the rest as the line that the file had until somebody asks for it.
// A process looks up a few of the thousands of records that a cluster's database may hold; reading JSON for all of them
// would take longer than to load the kernels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "tuning_db/database.hpp"

namespace msda {

class StoredRecord {
  public:
    // Times are rounded. Throws Error(invalid_argument) on a time that is not positive.
    explicit StoredRecord(Record record);

    // From a line of schema `schema`. One that is byte for byte what to_line wrote, as its digest shows, is read no
    // further than its key; any other as parse_line does, which throws Error(bad_file).
    StoredRecord(std::string_view line, int schema);

    const Database::Key& key() const { return key_; }

    // Throws Error(bad_file) where the line's digest fits and it is no record all the same: by no version that wrote
    // this schema.
    Record record() const;

  private:
    Database::Key key_;
    std::variant<Record, std::string> content_;  // the record, or its line
};

// Stored records by key; where two meet, the better one stays, as in a Database.
class StoredRecords {
  public:
    // True when it was taken. Throws as record() where two have to be compared.
    bool add(StoredRecord record);

    void merge(const StoredRecords& other);

    const std::map<Database::Key, StoredRecord>& records() const { return records_; }

    // All of them, read. Those that record() refuses are left out.
    Database database() const;

  private:
    std::map<Database::Key, StoredRecord> records_;
};

// What index_database made of a text.
struct IndexedDatabase {
    StoredRecords records;
    std::vector<std::string> complaints;  // as those of ParsedDatabase
};

// As parse_database, in a fraction of its time: equal records, complaints and errors.
IndexedDatabase index_database(std::string_view text, const std::string& name);

}  // namespace msda
