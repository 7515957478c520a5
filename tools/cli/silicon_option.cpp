// Chips by architecture and by record.
#include "tools/cli/silicon_option.hpp"

#include <set>

#include "tools/cli/architecture.hpp"

namespace msda::cli {

Silicon silicon_of(const SiliconKey& key) {
    Silicon silicon = typical_silicon(key.capability);
    silicon.capability = key.capability;
    silicon.sm_count = key.sm_count;
    silicon.l2_bytes = key.l2_bytes;
    silicon.bus_width = key.bus_width;
    silicon.partition = key.partition;
    return silicon;
}

Silicon silicon_for(Session& session, const std::string& arch, const Database& database) {
    if (arch.empty() && session.runtime().has_gpu()) return session.runtime().silicon(Device::gpu());
    std::set<SiliconKey> chips;
    const int wanted = arch.empty() ? 0 : parse_architecture(arch).capability;
    for (const auto& [key, record] : database.records())
        if (wanted == 0 || key.second.capability == wanted) chips.insert(key.second);
    if (chips.size() == 1) return silicon_of(*chips.begin());
    return typical_silicon(wanted == 0 ? 90 : wanted);
}

}  // namespace msda::cli
