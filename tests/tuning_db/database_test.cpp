// Merge laws, text, damage: a byte lost costs at most its record, a header lost costs nothing but the reading.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "msda/error.hpp"
#include "tests/matrix.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database.hpp"
#include "tuning_db/diff.hpp"
#include "tuning_db/schema.hpp"
#include "tuning_db/stored_record.hpp"

using namespace msda;
using namespace msda::test;

namespace {

// Up to 12 records over 4 problems and 2 chips, with ties in every rank on purpose.
Database random_database(std::mt19937& random) {
    Database database;
    for (int i = 0; i < 12; i++) {
        Silicon silicon = h200();
        if (random() % 2) silicon.sm_count = 114;
        Record r = record_of(decoder(100 + 100 * static_cast<int>(random() % 4)), silicon,
                             1 + 0.1 * static_cast<int>(random() % 3), 1 << random() % 3);
        r.policy = policy_partial + static_cast<int>(random() % 2);
        r.samples = 10 + random() % 2;
        r.date = random() % 2 ? "2025-01-01T00:00:00Z" : "2025-01-02T00:00:00Z";
        database.add(r);
    }
    return database;
}

Database merged(Database a, const Database& b) {
    a.merge(b);
    return a;
}

Database of_size(int records) {
    Database database;
    for (int i = 0; i < records; i++) database.add(record_of(decoder(100 + i), h200()));
    return database;
}

Code code_of(const std::string& text) {
    try {
        parse_database(text, "x.json");
    } catch (const Error& error) {
        return error.code();
    }
    return Code{};
}

}  // namespace

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("merge is commutative, associative and idempotent") {
    std::mt19937 random(7);
    for (int round = 0; round < 100; round++) {
        const Database a = random_database(random);
        const Database b = random_database(random);
        const Database c = random_database(random);
        REQUIRE(merged(a, b) == merged(b, a));
        REQUIRE(merged(merged(a, b), c) == merged(a, merged(b, c)));
        REQUIRE(merged(a, a) == a);
        REQUIRE(merged(merged(a, b), b) == merged(a, b));
        REQUIRE(merged(a, b).size() >= std::max(a.size(), b.size()));
    }
}

TEST_CASE("adding in any order gives the same text and hash") {
    std::mt19937 random(11);
    std::vector<Record> records;
    for (int i = 0; i < 5; i++) {
        const Database part = random_database(random);
        for (const auto& [key, record] : part.records()) records.push_back(record);
    }
    Database sorted;
    for (const Record& record : records) sorted.add(record);
    for (int round = 0; round < 20; round++) {
        std::ranges::shuffle(records, random);
        Database database;
        for (const Record& record : records) database.add(record);
        REQUIRE(to_text(database) == to_text(sorted));
        REQUIRE(database.hash() == sorted.hash());
    }
}

TEST_CASE("the text is read back, also with CRLF line ends") {
    const Database database = of_size(5);
    const std::string text = to_text(database);
    CHECK(std::ranges::count(text, '\n') == 7);
    const ParsedDatabase parsed = parse_database(text, "x.json");
    CHECK(parsed.database == database);
    CHECK(parsed.complaints.empty());
    CHECK(to_text(parsed.database) == text);
    std::string windows;
    for (const char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
    CHECK(parse_database(windows, "x.json").database == database);
    CHECK(parse_database(to_text({}), "x.json").database.size() == 0);
}

TEST_CASE("each byte of a record line damaged: at most that record is lost, with file and line") {
    const Database database = of_size(3);
    const std::string text = to_text(database);
    const std::size_t begin = text.find('\n') + 1;
    const std::size_t middle = text.find('\n', begin) + 1;
    const std::size_t end = text.find('\n', middle);
    const std::string problem = std::next(database.records().begin())->first.first;
    int lost = 0;
    for (std::size_t at = middle; at < end; at += whole_matrices() ? 2 : 6)
        for (const char damage : {'\0', '\n', '"', '}', static_cast<char>(text[at] ^ 1)}) {
            if (damage == text[at]) continue;
            std::string damaged = text;
            damaged[at] = damage;
            const ParsedDatabase parsed = parse_database(damaged, "x.json");
            const IndexedDatabase indexed = index_database(damaged, "x.json");
            REQUIRE(indexed.records.database() == parsed.database);
            REQUIRE(indexed.complaints == parsed.complaints);
            REQUIRE(parsed.database.size() >= 2);
            for (const auto& [key, record] : parsed.database.records())
                REQUIRE(*database.find(key.first, key.second) == record);
            if (parsed.database.size() == 3) continue;
            lost++;
            REQUIRE(parsed.database.find(problem, key_of(h200())) == nullptr);
            REQUIRE_FALSE(parsed.complaints.empty());
            const std::string& complaint = parsed.complaints.front();  // a new line end shifts what follows by one
            REQUIRE(
                (complaint.starts_with("x.json:3: record skipped: ") || complaint.starts_with("x.json:4: record ")));
        }
    CHECK(lost > whole_or_slice(1000, 330));
}

TEST_CASE("each record corrupted in turn, the others stay") {
    const Database database = of_size(8);
    const std::string text = to_text(database);
    std::size_t at = text.find('\n') + 1;
    for (int line = 2; line < 10; line++, at = text.find('\n', at) + 1) {
        std::string damaged = text;
        damaged[at] = 'x';
        const ParsedDatabase parsed = parse_database(damaged, "x.json");
        CHECK(parsed.database.size() == 7);
        REQUIRE(parsed.complaints.size() == 1);
        CHECK(parsed.complaints[0].find("x.json:" + std::to_string(line) + ":") == 0);
    }
}

TEST_CASE("a file cut off keeps its whole records and says so") {
    const std::string text = to_text(of_size(4));
    for (std::size_t length = text.find('\n') + 1; length < text.size() - 1; length += 97) {
        const ParsedDatabase parsed = parse_database(text.substr(0, length), "x.json");
        CHECK_FALSE(parsed.complaints.empty());
    }
}

TEST_CASE("a file of junk has 100 complaints and the number of the others, each of a sentence's length") {
    std::string text = to_text(of_size(1));
    const std::size_t end = text.find("]}");
    for (int i = 0; i < 5000; i++) text.insert(end, i % 2 ? "x\n" : "{\"" + std::string(2000, 'k') + "\":1}\n");
    const ParsedDatabase parsed = parse_database(text, "x.json");
    CHECK(parsed.database.size() == 1);
    REQUIRE(parsed.complaints.size() == 101);
    CHECK(parsed.complaints.back() == "x.json: 4900 more records skipped");
    for (const std::string& complaint : parsed.complaints) CHECK(complaint.size() < 200);
}

TEST_CASE("damaged header, newer schema: refused as a whole; older schema: migrated") {
    const std::string text = to_text(of_size(2));
    const std::size_t header = text.find('\n');
    for (std::size_t at = 0; at < header; at++) {
        std::string damaged = text;
        damaged[at] = '#';
        CHECK(code_of(damaged) == Code::bad_file);
    }
    for (const char* other : {"", "\n", "{}", "[]", "{\"records\":[\n]}\n",
                              "{\"database\":{\"format\":\"msda-tuning-database\"},\"records\":[\n]}\n"})
        CHECK(code_of(other) == Code::bad_file);

    const std::string current = "\"schema\":" + std::to_string(current_schema);
    std::string newer = text;
    newer.replace(newer.find(current), current.size(), "\"schema\":99");
    try {
        parse_database(newer, "x.json");
        FAIL("a newer schema was accepted");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("newer msda (schema 99)") != std::string::npos);
    }
    CHECK(parse_database("{\"database\":{\"format\":\"msda-tuning-database\",\"schema\":1},\"records\":[\n]}\n", "x")
              .schema == 1);
}

TEST_CASE("one silicon under two names is one record; one name on two chips is two") {
    Database database;
    Record a = record_of(decoder(), h200(), 1.2);
    Record b = record_of(decoder(), h200(), 1.3);
    b.gpu = "NVIDIA H200 NVL";
    database.add(a);
    database.add(b);
    CHECK(database.size() == 1);
    CHECK(database.find(a.problem, a.silicon)->gpu == "NVIDIA H200 NVL");
    Silicon small = h200();
    small.sm_count = 114;
    database.add(record_of(decoder(), small));
    CHECK(database.size() == 2);
}

TEST_CASE("hash follows every change, and diff names it") {
    std::set<std::string> hashes;
    const Database base = of_size(3);
    hashes.insert(base.hash());
    CHECK(diff(base, base).empty());
    hashes.insert(of_size(2).hash());
    Database faster = base;
    faster.add(record_of(decoder(101), h200(), 1.4));
    hashes.insert(faster.hash());
    CHECK(hashes.size() == 3);
    REQUIRE(diff(base, faster).size() == 1);
    CHECK(diff(base, faster)[0].same_config());
    const auto gone = diff(base, of_size(2));
    REQUIRE(gone.size() == 1);
    CHECK(gone[0].right == nullptr);
}

TEST_SUITE_END();
