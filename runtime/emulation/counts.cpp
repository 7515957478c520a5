#include "runtime/emulation/counts.hpp"

#include <algorithm>
#include <tuple>

namespace msda::emulation {
namespace {

constexpr std::uint64_t word_bytes = 4, banks = 32, sector_bytes = 32, line_bytes = 128;

// The numbers, in units of `unit` bytes, of all that the parts touch, each once.
std::vector<std::uint64_t> touched(const std::vector<LaneAccess>& parts, std::uint64_t unit) {
    std::vector<std::uint64_t> units;
    for (const LaneAccess& part : parts) {
        const std::uint64_t last = (part.address + static_cast<std::uint64_t>(part.bytes) - 1) / unit;
        for (std::uint64_t u = part.address / unit; u <= last; u++) units.push_back(u);
    }
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    return units;
}

int lanes_at_once(int bytes) { return bytes > 8 ? 8 : bytes > 4 ? 16 : 32; }

void count_wavefronts(const std::vector<LaneAccess>& together, AccessCounts& counts) {
    if (together.empty()) return;
    const std::vector<std::uint64_t> words = touched(together, word_bytes);
    std::array<std::int64_t, banks> load{};
    for (const std::uint64_t word : words) load[word % banks]++;
    const std::int64_t needed = (static_cast<std::int64_t>(words.size()) + 31) / 32;
    const std::int64_t taken = *std::max_element(load.begin(), load.end());
    counts.wavefronts += taken;
    counts.bank_conflicts += taken - needed;
}

}  // namespace

AccessCounts& AccessCounts::operator+=(const AccessCounts& other) {
    requests += other.requests;
    lanes += other.lanes;
    bytes += other.bytes;
    sectors += other.sectors;
    lines += other.lines;
    wavefronts += other.wavefronts;
    bank_conflicts += other.bank_conflicts;
    return *this;
}

AccessCounts Counts::of(Access kind) const {
    AccessCounts sum;
    for (const auto& [place, counts] : places)
        if (place.kind == kind) sum += counts;
    return sum;
}

Counts& Counts::operator+=(const Counts& other) {
    for (const auto& [place, counts] : other.places) places[place] += counts;
    return *this;
}

AccessCounts count_warp_access(const std::vector<LaneAccess>& parts) {
    AccessCounts counts;
    if (parts.empty()) return counts;
    counts.requests = 1;
    counts.lanes = static_cast<std::int64_t>(parts.size());
    counts.bytes = counts.lanes * parts.front().bytes;
    counts.sectors = static_cast<std::int64_t>(touched(parts, sector_bytes).size());
    counts.lines = static_cast<std::int64_t>(touched(parts, line_bytes).size());
    const int step = lanes_at_once(parts.front().bytes);
    for (int first = 0; first < 32; first += step) {
        std::vector<LaneAccess> together;
        for (const LaneAccess& part : parts)
            if (part.lane >= first && part.lane < first + step) together.push_back(part);
        count_wavefronts(together, counts);
    }
    return counts;
}

void WarpLog::record(int lane, Access kind, Site site, std::uint64_t address, int bytes) {
    auto visits = std::find_if(visits_.begin(), visits_.end(), [&](const Visits& v) {
        return v.site.line == site.line && v.site.file == site.file && v.kind == kind;
    });
    if (visits == visits_.end()) visits = visits_.insert(visits_.end(), {site, kind, {}});
    const int occurrence = visits->of_lane[static_cast<std::size_t>(lane)]++;
    entries_.push_back({kind, site, occurrence, {lane, address, bytes}});
}

void WarpLog::flush(Counts& counts) {
    const auto key = [](const Entry& e) {
        return std::tuple(e.site.file, e.site.line, e.kind, e.occurrence, e.part.bytes);
    };
    std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    std::vector<LaneAccess> parts;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        auto end = entry;
        parts.clear();
        for (; end != entries_.end() && key(*end) == key(*entry); ++end) parts.push_back(end->part);
        counts.places[{entry->site.file, entry->site.line, entry->kind}] += count_warp_access(parts);
        entry = end;
    }
    entries_.clear();
    visits_.clear();
}

}  // namespace msda::emulation
