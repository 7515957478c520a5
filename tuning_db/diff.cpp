// Comparison of two databases.
#include "tuning_db/diff.hpp"

namespace msda {

std::vector<RecordDifference> diff(const Database& left, const Database& right) {
    std::vector<RecordDifference> differences;
    Database keys = left;
    keys.merge(right);
    for (const auto& [key, record] : keys.records()) {
        const Record* a = left.find(key.first, key.second);
        const Record* b = right.find(key.first, key.second);
        if (!a || !b || *a != *b) differences.push_back({key, a, b});
    }
    return differences;
}

}  // namespace msda
