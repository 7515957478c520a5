// How two databases differ, record by record.
#pragma once

#include <string>
#include <vector>

#include "tuning_db/database.hpp"

namespace msda {

// One problem and silicon that the two databases do not agree on; a side without the record is nullptr. The pointers
// are into the databases compared.
struct RecordDifference {
    Database::Key key;
    const Record* left = nullptr;
    const Record* right = nullptr;
    // True when both have the record with one config, measured apart.
    bool same_config() const { return left && right && left->config == right->config; }
};

// Differences in the order of the keys; empty when the databases are equal.
std::vector<RecordDifference> diff(const Database& left, const Database& right);

}  // namespace msda
