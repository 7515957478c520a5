// The text of a database, read line by line so that damage to one line costs one record.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/schema.hpp"
#include "tuning_db/stored_record.hpp"

namespace msda {
namespace {

constexpr std::string_view format_name = "msda-tuning-database";
constexpr std::string_view last_line = "]}";
constexpr std::size_t most_complaints = 100;  // a file of junk has a line every other byte

std::string header_line() {
    return fmt::format(R"({{"database":{{"format":"{}","schema":{}}},"records":[)", format_name, current_schema);
}

// Takes the first line off `text`, without its line end ("\n" or "\r\n").
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// The schema that a header line states; 0 when the line is no header.
int schema_of(std::string_view line) {
    if (line.size() > 4096) return 0;
    const auto json = nlohmann::json::parse(std::string(line) + "]}", nullptr, false);
    if (!json.is_object() || !json.contains("database") || !json.contains("records")) return 0;
    const auto& about = json["database"];
    if (!about.is_object() || about.value("format", nlohmann::json()) != format_name) return 0;
    const auto schema = about.value("schema", nlohmann::json());
    return schema.is_number_unsigned() && schema <= 1'000'000 ? schema.get<int>() : 0;
}

int read_header(std::string_view& text, const std::string& name) {
    const int schema = schema_of(take_line(text));
    if (schema < 1)
        throw Error(Code::bad_file, fmt::format("{}:1: not a tuning database, or its header is damaged; expected '{}'. "
                                                "The file is left as it is.",
                                                name, header_line()));
    if (schema > current_schema)
        throw Error(Code::bad_file,
                    fmt::format("{}: written by a newer msda (schema {}); this one reads up to schema {}. "
                                "The file is left as it is; update msda or name another file.",
                                name, schema, current_schema));
    return schema;
}

// Gives each record's line to `take`; what that refuses, with Error, becomes a complaint. Returns the schema.
int read_lines(std::string_view text, const std::string& name, std::vector<std::string>& complaints,
               const std::function<void(std::string_view line, int schema)>& take) {
    const int schema = read_header(text, name);
    bool ended = false;
    std::size_t skipped = 0;
    for (int number = 2; !text.empty(); number++) {
        std::string_view line = take_line(text);
        if (line.empty()) continue;
        if (line == last_line && !ended) {
            ended = true;
            continue;
        }
        try {
            if (ended) throw Error(Code::bad_file, "text after the end of the records");
            if (line.ends_with(',')) line.remove_suffix(1);
            take(line, schema);
        } catch (const Error& error) {
            if (++skipped <= most_complaints)
                complaints.push_back(fmt::format("{}:{}: record skipped: {}", name, number, error.what()));
        }
    }
    if (skipped > most_complaints)
        complaints.push_back(fmt::format("{}: {} more records skipped", name, skipped - most_complaints));
    if (!ended) complaints.push_back(fmt::format("{}: the end is missing: cut off?", name));
    return schema;
}

}  // namespace

std::string to_text(const Database& database) {
    std::string text = header_line();
    const char* separator = "\n";
    for (const auto& [key, record] : database.records()) {
        text += separator + to_line(record);
        separator = ",\n";
    }
    return text + "\n" + std::string(last_line) + "\n";
}

ParsedDatabase parse_database(std::string_view text, const std::string& name) {
    ParsedDatabase parsed;
    parsed.schema = read_lines(text, name, parsed.complaints, [&](std::string_view line, int schema) {
        parsed.database.add(parse_line(line, schema));
    });
    return parsed;
}

IndexedDatabase index_database(std::string_view text, const std::string& name) {
    IndexedDatabase indexed;
    read_lines(text, name, indexed.complaints,
               [&](std::string_view line, int schema) { indexed.records.add(StoredRecord(line, schema)); });
    return indexed;
}

}  // namespace msda
