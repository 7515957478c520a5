// The text of a whole database. What is kept of it is a database whose text reads back without complaint, and merging
// it with itself changes nothing.
#include "tests/fuzz/fuzz.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/stored_record.hpp"

using namespace msda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = fuzz::accepted([&] { return parse_database(fuzz::view(data, size), "input"); });
    if (!parsed) return 0;
    fuzz::require(parsed->complaints.size() <= 102, "complaints are limited");
    const IndexedDatabase indexed = index_database(fuzz::view(data, size), "input");
    fuzz::require(indexed.records.database() == parsed->database, "the index holds the same database");
    fuzz::require(indexed.complaints == parsed->complaints, "and complains of the same");
    const std::string text = to_text(parsed->database);
    const auto again = fuzz::accepted([&] { return parse_database(text, "output"); });
    fuzz::require(again && again->complaints.empty(), "what is written reads back whole");
    fuzz::require(again->database == parsed->database, "and is the same database");
    fuzz::require(to_text(again->database) == text, "its text is stable");
    Database merged = parsed->database;
    merged.merge(again->database);
    fuzz::require(merged.hash() == parsed->database.hash(), "merging is idempotent");
    return 0;
}
