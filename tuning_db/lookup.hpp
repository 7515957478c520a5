// The search in the effective view: exact, nearest size, other silicon of the capability, heuristic.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tuning_db/layers.hpp"
#include "tuning_db/stored_record.hpp"

namespace msda {

// Records indexed for lookup. Records of higher layers are added first and hide the same key in lower ones.
class View {
  public:
    void add(const StoredRecord& record, const std::string& source);

    // As Layers::choose; `warn` gets one sentence for each record that is passed over.
    Choice choose(const Problem& problem, const Silicon& silicon,
                  const std::function<void(const std::string&)>& warn) const;

    Database database() const;

    // Records whose problem text this version cannot read: they are kept and merged, and never chosen.
    const std::vector<std::string>& complaints() const { return complaints_; }

  private:
    struct Entry {
        StoredRecord stored;
        std::string source;
        Problem problem;
    };
    struct Ranked {
        double distance;
        const Entry* entry;
    };
    std::vector<Ranked> ranked(const Problem& problem, const Silicon& silicon, bool same_silicon) const;
    // The order of better() among records that are equally far; reads each of them, once.
    static void sort_by_worth(std::span<Ranked> alike);

    std::map<Database::Key, Entry> entries_;
    std::map<std::string, std::vector<const Entry*>> families_;
    std::vector<std::string> complaints_;
};

}  // namespace msda
