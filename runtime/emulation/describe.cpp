// Says in one sentence which rule an emulated kernel broke, where, and how far the other threads had come.
#include <fmt/format.h>

#include <map>
#include <string_view>

#include "runtime/emulation/block.hpp"

namespace msda::emulation {
namespace {

std::string text(Site site) {
    if (site.file == nullptr) return "the end of the kernel";
    std::string_view file = site.file;
    if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
    return fmt::format("{}:{}", file, site.line);
}

std::string_view text(Access kind) {
    switch (kind) {
        case Access::global_load:
            return "load";
        case Access::global_store:
            return "store";
        case Access::global_red:
            return "red";
        case Access::shared_load:
            return "shared load";
        case Access::shared_store:
            return "shared store";
        case Access::shared_atomic:
            return "shared atomic";
    }
    return "";
}

// "32 threads wait at a.cuh:7, 32 have finished", in order of places.
std::string progress(const Block& block) {
    std::map<std::string, int> waiting;
    for (int i = 0; i < block.threads; i++)
        if (block.lanes[static_cast<std::size_t>(i)].waits_at.file != nullptr)
            waiting[text(block.lanes[static_cast<std::size_t>(i)].waits_at)]++;
    std::string all;
    for (const auto& [place, threads] : waiting) all += fmt::format("{} threads wait at {}, ", threads, place);
    return all + fmt::format("{} have finished", block.finished);
}

// Bytes from an address to the nearest byte of a tensor, 0 inside.
std::uintptr_t distance(const Extent& extent, const char* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address), begin = reinterpret_cast<std::uintptr_t>(extent.begin);
    if (at < begin) return begin - at;
    return at - begin <= extent.bytes ? 0 : at - begin - extent.bytes;
}

// Where an address lies with respect to the nearest tensor.
std::string position(const Grid& grid, const char* address) {
    if (reinterpret_cast<std::uintptr_t>(address) < 4096) return "a null pointer";
    const Extent* nearest = nullptr;
    for (const Extent& extent : *grid.extents)
        if (nearest == nullptr || distance(extent, address) < distance(*nearest, address)) nearest = &extent;
    if (nearest == nullptr) return "there is none";
    if (address < nearest->begin) return fmt::format("{} bytes before {}", nearest->begin - address, nearest->name);
    return fmt::format("at byte {} of {}, which has {} {}", address - nearest->begin, nearest->name, nearest->bytes,
                       nearest->writable ? "bytes" : "read-only bytes");
}

}  // namespace

std::string describe(const Block& block) {
    const Fault& fault = block.fault;
    const std::string access = fmt::format("{} of {} bytes at {}", text(fault.kind), fault.bytes, text(fault.site));
    switch (fault.rule) {
        case Fault::Rule::none:
            return "";
        case Fault::Rule::progress:
            return fmt::format("a barrier or collective that not all threads reach: {}", progress(block));
        case Fault::Rule::same_collective:
            return fmt::format("lanes of one warp are at different collectives, {} and {}", text(fault.other),
                               text(fault.site));
        case Fault::Rule::same_barrier:
            return fmt::format("threads of one block are at different barriers, {} and {}", text(fault.other),
                               text(fault.site));
        case Fault::Rule::whole_warp:
            return fmt::format("a collective at {} in a warp that has fewer than 32 threads", text(fault.site));
        case Fault::Rule::alignment:
            return fmt::format("misaligned {}: address ...{:03x}", access,
                               reinterpret_cast<std::uintptr_t>(fault.address) & 0xfffu);
        case Fault::Rule::bounds:
            return fmt::format("{} outside its tensor: {}", access, position(*block.grid, fault.address));
        case Fault::Rule::shared_bounds:
            return fmt::format("{} outside shared memory: byte {} of {}", access, fault.address - block.lanes[0].shared,
                               block.grid->shared_bytes);
    }
    return "";
}

}  // namespace msda::emulation
