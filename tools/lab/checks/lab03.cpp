// Lab 03: sectors, lines and wavefronts, simulated by the learner, predicted, and measured.
#include <fmt/format.h>

#include <random>

#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab03 {

using emulation::Access;
using emulation::AccessCounts;
using emulation::LaneAccess;

struct WarpAccess {
    std::vector<unsigned long long> address;
    int bytes = 4;

    int lanes() const { return static_cast<int>(address.size()); }
    AccessCounts counts() const {
        std::vector<LaneAccess> parts;
        for (int lane = 0; lane < lanes(); lane++)
            parts.push_back({lane, address[static_cast<std::size_t>(lane)], bytes});
        return emulation::count_warp_access(parts);
    }
    std::string text() const {
        return fmt::format("{} lanes of {} bytes at {}{}", lanes(), bytes,
                           fmt::join(address.begin(), address.begin() + std::min<std::ptrdiff_t>(8, lanes()), ", "),
                           lanes() > 8 ? ", …" : "");
    }
};

// Regular and random accesses, aligned and not.
std::vector<WarpAccess> accesses(bool aligned) {
    std::vector<WarpAccess> all;
    std::mt19937 random(7);
    for (const int bytes : {4, 8, 16, 2, 1})
        for (const unsigned stride : {0U, 1U, 2U, 3U, 4U, 8U, 32U, 33U, 40U})
            for (const int lanes : {32, 32, 32, 5, 20}) {
                WarpAccess access{{}, bytes};
                const unsigned long long base = 4096 + (random() % 4) * 16, odd = aligned ? 0 : random() % 3;
                for (int lane = 0; lane < lanes; lane++) {
                    const unsigned long long element =
                        stride == 40 ? random() % 200 : stride * static_cast<unsigned>(lane);
                    access.address.push_back(base + odd + element * static_cast<unsigned>(bytes));
                }
                all.push_back(access);
            }
    return all;
}

void touched(Attempt& attempt) {
    const auto f = attempt.student.function<int(const unsigned long long*, int, int, int)>("touched");
    for (const bool aligned : {true, false})
        for (const WarpAccess& access : accesses(aligned)) {
            const AccessCounts counts = access.counts();
            const int sectors = f(access.address.data(), access.lanes(), access.bytes, 32),
                      lines = f(access.address.data(), access.lanes(), access.bytes, 128);
            require(sectors == counts.sectors,
                    fmt::format("{}: expected {} sectors, got {}", access.text(), counts.sectors, sectors));
            require(lines == counts.lines,
                    fmt::format("{}: expected {} lines, got {}", access.text(), counts.lines, lines));
        }
}

void lanes_together(Attempt& attempt) {
    const auto f = attempt.student.function<int(int)>("lanes_together");
    for (const auto& [bytes, lanes] : {std::pair{1, 32}, {2, 32}, {4, 32}, {8, 16}, {16, 8}})
        require(f(bytes) == lanes,
                fmt::format("{} bytes a lane: expected {} lanes together, got {}", bytes, lanes, f(bytes)));
}

void wavefronts(Attempt& attempt) {
    const auto f = attempt.student.function<int(const unsigned long long*, int, int)>("wavefronts");
    for (const WarpAccess& access : accesses(true)) {
        const auto expected = access.counts().wavefronts;
        const int got = f(access.address.data(), access.lanes(), access.bytes);
        require(got == expected, fmt::format("{}: expected {} wavefronts, got {}", access.text(), expected, got));
    }
}

struct Cost {
    int sectors, wavefronts;
};

void predicted(Attempt& attempt) {
    const auto f = attempt.student.function<Cost(int)>("predicted");
    alignas(128) static float in[33 * 32 + 64];
    std::string table = "pattern  sectors predicted, measured   wavefronts predicted, measured";
    int wrong = 0;
    for (int pattern = 0; pattern < 8; pattern++) {
        std::vector<float> out(32);
        Launch launch;
        launch.kernel = "patterns";
        launch.count = true;
        const AccessCounts counts =
            attempt.student.launch(launch, pattern, static_cast<const float*>(in), out.data()).of(Access::global_load);
        const Cost cost = f(pattern);
        const bool right = cost.sectors == counts.sectors && cost.wavefronts == counts.wavefronts;
        wrong += right ? 0 : 1;
        table += fmt::format("\n{:>7} {:>18} {:>10} {:>22} {:>10}{}", pattern, cost.sectors, counts.sectors,
                             cost.wavefronts, counts.wavefronts, right ? "" : "   <--");
    }
    attempt.notes.push_back(table);
    require(
        wrong == 0,
        fmt::format(
            "{} of 8 patterns cost something else than predicted; the table below shows which. Change a number only "
            "when you can say why",
            wrong));
}

}  // namespace lab03

Checks checks_03() {
    using namespace lab03;
    return {{"03/touched", touched},
            {"03/lanes_together", lanes_together},
            {"03/wavefronts", wavefronts},
            {"03/predicted", predicted}};
}

}  // namespace msda::lab
