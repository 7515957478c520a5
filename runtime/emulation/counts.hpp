// What the memory accesses of an emulated kernel cost: requests, sectors, lines and wavefronts of each warp access,
// summed by kind and by the place in the templates that made them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/emulation/machine.hpp"

namespace msda::emulation {

// Sums over warp accesses. A warp access is what the lanes of one warp do at one place between two meetings of the
// warp, the n-th time each. Wavefronts: 16-byte accesses are served eight lanes at a time, 8-byte ones sixteen, smaller
// ones all 32; each such part takes as many wavefronts as the busiest of the 32 four-byte banks (address / 4 mod 32)
// has different words to give. The L1 data cache and shared memory are the same array, so both are counted alike: two
// 64-byte rows in opposite halves of their lines take one wavefront, in the same half two.
struct AccessCounts {
    std::int64_t requests = 0;  // warp accesses
    std::int64_t lanes = 0;     // active lanes
    std::int64_t bytes = 0;     // asked for by those lanes, the same byte twice counted twice
    std::int64_t sectors = 0;   // different 32-byte sectors
    std::int64_t lines = 0;     // different 128-byte lines
    std::int64_t wavefronts = 0;
    std::int64_t bank_conflicts = 0;  // wavefronts beyond those that the number of different words would need

    AccessCounts& operator+=(const AccessCounts& other);
    bool operator==(const AccessCounts&) const = default;
};

// A place in the templates and what it does there.
struct Place {
    std::string file;
    int line = 0;
    Access kind{};
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): as in tuning_db/silicon_key.hpp
};

struct Counts {
    std::map<Place, AccessCounts> places;

    // The sum over all places of one kind.
    AccessCounts of(Access kind) const;
    Counts& operator+=(const Counts& other);
};

// One lane's part of a warp access.
struct LaneAccess {
    int lane = 0;
    std::uint64_t address = 0;
    int bytes = 0;
};

// Counts one warp access; all parts have the same number of bytes. Pure.
AccessCounts count_warp_access(const std::vector<LaneAccess>& parts);

// Collects the accesses of one warp between two meetings, then counts them.
class WarpLog {
  public:
    void record(int lane, Access kind, Site site, std::uint64_t address, int bytes);
    // Adds what was recorded to `counts` and forgets it.
    void flush(Counts& counts);

  private:
    struct Entry {
        Access kind;
        Site site;
        int occurrence;
        LaneAccess part;
    };
    struct Visits {
        Site site;
        Access kind;
        std::array<int, 32> of_lane;
    };
    std::vector<Entry> entries_;
    std::vector<Visits> visits_;
};

}  // namespace msda::emulation
