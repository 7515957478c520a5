// The set of records and its hash; its text is in database_text.cpp.
#include "tuning_db/database.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace msda {

bool Database::add(Record record) {
    record = rounded(std::move(record));
    Key key{record.problem, record.silicon};
    const auto at = records_.find(key);
    if (at == records_.end()) {
        records_.emplace(std::move(key), std::move(record));
        return true;
    }
    if (at->second == record || !better(record, at->second)) return false;
    at->second = std::move(record);
    return true;
}

void Database::merge(const Database& other) {
    for (const auto& [key, record] : other.records_) add(record);
}

const Record* Database::find(const std::string& problem, const SiliconKey& silicon) const {
    const auto at = records_.find(Key{problem, silicon});
    return at == records_.end() ? nullptr : &at->second;
}

std::string Database::hash() const {
    std::string digests;
    for (const auto& [key, record] : records_) digests += digest(record) + '\n';
    const XXH128_hash_t hash = XXH3_128bits(digests.data(), digests.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace msda
