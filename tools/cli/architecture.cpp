// Names and limits of compute capabilities.
#include "tools/cli/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/cli/numbers.hpp"

namespace msda::cli {
namespace {

struct Limits {
    int capability;  // this one and those up to the next row
    int shared_per_block, shared_per_sm, threads_per_sm;
    int sm_count, l2_mebibytes;  // of a common GPU of that kind
};

constexpr std::array<Limits, 13> table = {{
    {50, 48, 64, 2048, 16, 2},        // GTX 980 class
    {52, 48, 96, 2048, 24, 3},        // M40
    {60, 48, 64, 2048, 56, 4},        // P100
    {61, 48, 96, 2048, 28, 3},        // GTX 1080 Ti
    {70, 96, 96, 2048, 80, 6},        // V100
    {75, 64, 64, 1024, 40, 4},        // T4
    {80, 163, 164, 2048, 108, 40},    // A100
    {86, 99, 100, 1536, 84, 6},       // A40, RTX 3090
    {87, 163, 164, 1536, 16, 4},      // Orin
    {89, 99, 100, 1536, 142, 96},     // L40S, RTX 4090
    {90, 227, 228, 2048, 132, 50},    // H100, H200
    {100, 227, 228, 2048, 148, 126},  // B200
    {120, 99, 100, 1536, 170, 96},    // RTX 5090
}};

}  // namespace

std::string Architecture::text() const { return fmt::format("sm_{}{}", capability, suffix); }

Architecture parse_architecture(const std::string& text) {
    std::string_view rest = text;
    if (rest.starts_with("sm_")) rest.remove_prefix(3);
    Architecture architecture;
    if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
        architecture.suffix = rest.back();
        rest.remove_suffix(1);
    }
    const bool digits =
        !rest.empty() && rest.size() <= 3 && std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits)
        throw Error(Code::invalid_argument,
                    fmt::format("--arch: expected sm_90, sm_90a or the like, got '{}'", text.substr(0, 64)));
    architecture.capability = static_cast<int>(parse_integer("--arch sm_", rest, 50, 999));
    return architecture;
}

Silicon typical_silicon(int capability) {
    const auto above = std::ranges::upper_bound(table, capability, {}, &Limits::capability);
    const Limits& limits = above == table.begin() ? table.front() : *(above - 1);
    Silicon silicon;
    silicon.capability = capability;
    silicon.sm_count = limits.sm_count;
    silicon.l2_bytes = std::int64_t{limits.l2_mebibytes} << 20;
    silicon.shared_per_block = limits.shared_per_block << 10;
    silicon.shared_per_sm = limits.shared_per_sm << 10;
    silicon.threads_per_sm = limits.threads_per_sm;
    return silicon;
}

CompileTarget compile_target(Session& session, const std::string& arch) {
    if (!arch.empty()) {
        const Architecture architecture = parse_architecture(arch);
        return {architecture, typical_silicon(architecture.capability)};
    }
    if (!session.runtime().has_gpu()) return {{}, typical_silicon(90)};
    const Silicon silicon = session.runtime().silicon(Device::gpu());
    return {{silicon.capability, ""}, silicon};
}

}  // namespace msda::cli
