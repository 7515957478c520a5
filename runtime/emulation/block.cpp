#include "runtime/emulation/block.hpp"

#include <bit>
#include <cstring>

#include "runtime/emulation/sanitizers.hpp"

namespace msda::emulation {
namespace {

constexpr std::uint32_t whole_warp = 0xffffffffu;

constinit thread_local Thread* current = nullptr;  // set at each switch to a fiber

MSDA_UNSEEN bool same(Site a, Site b) {
    return a.line == b.line && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

// The next thread in turn that may run: the same warp first, since lanes that meet are then only one switch apart.
MSDA_UNSEEN Lane* next_ready(Block& block, const Lane& from) {
    const bool ascending = block.grid->order == Order::ascending;
    const int warps = (block.threads + 31) / 32, own = from.index / 32, lane = from.index % 32;
    for (int k = 0; k < warps; k++) {
        const int w = ascending ? (own + k) % warps : (own - k + warps) % warps;
        const std::uint32_t ready = block.warps.get()[w].ready;
        if (ready == 0) continue;
        const int start = k == 0 ? lane : ascending ? 31 : 0;
        const int next = ascending ? start + 1 + std::countr_zero(std::rotr(ready, start + 1))
                                   : start + 31 - std::countl_zero(std::rotl(ready, 32 - start));
        return block.lanes.get() + w * 32 + next % 32;
    }
    return nullptr;
}

MSDA_UNSEEN void continue_with(Fiber& from, Lane& next) {
    current = &next;
    switch_fiber(from, *next.fiber);
}

// Gives the block up; the fiber is never continued.
MSDA_UNSEEN void give_up(Lane& self, Fault::Rule rule, Site site, Site other = {}) {
    Block& block = *self.owner;
    block.fault.rule = rule;
    block.fault.thread = self.index;
    block.fault.site = site;
    block.fault.other = other;
    switch_fiber(*self.fiber, block.host);
}

MSDA_UNSEEN void wait(Lane& self, Site site) {
    self.waits_at = site;
    self.warp->ready &= ~self.bit();
    Lane* next = next_ready(*self.owner, self);
    if (next == nullptr)
        give_up(self, Fault::Rule::progress, site);
    else
        continue_with(*self.fiber, *next);
}

void count(Block& block, Warp& warp) {
    if (block.grid->count) warp.log.flush(block.counts);
}

MSDA_UNSEEN const unsigned long long* meet(Thread& thread, Collective what, unsigned long long brought, Site site) {
    Lane& self = static_cast<Lane&>(thread);
    Warp& warp = *self.warp;
    if (warp.members != whole_warp) give_up(self, Fault::Rule::whole_warp, site);
    if (warp.arrived == 0) {
        warp.what = what;
        warp.site = site;
    } else if (warp.what != what || !same(warp.site, site)) {
        give_up(self, Fault::Rule::same_collective, site, warp.site);
    }
    const int phase = warp.phase;
    warp.brought[phase][self.index & 31] = brought;
    warp.arrived |= self.bit();
    if (warp.arrived != whole_warp) {
        wait(self, site);
    } else {
        count(*self.owner, warp);
        warp.arrived = 0;
        warp.ready = whole_warp;
        warp.phase ^= 1;
    }
    return warp.brought[phase];
}

MSDA_UNSEEN void warp_barrier(Thread& thread, Site site) {
    Warp& warp = *static_cast<Lane&>(thread).warp;
    char* order = &warp.order[warp.phase];
    release(order);
    meet(thread, Collective::barrier, 0, site);
    acquire(order);
}

MSDA_UNSEEN void block_barrier(Thread& thread, Site site) {
    Lane& self = static_cast<Lane&>(thread);
    Block& block = *self.owner;
    if (block.arrived == 0)
        block.barrier = site;
    else if (!same(block.barrier, site))
        give_up(self, Fault::Rule::same_barrier, site, block.barrier);
    char* order = &block.order[block.phase];
    release(order);
    self.warp->at_block |= self.bit();
    if (++block.arrived < block.threads) {
        wait(self, site);
    } else {
        for (int w = 0; w < (block.threads + 31) / 32; w++) {
            Warp& warp = block.warps.get()[w];
            count(block, warp);
            warp.at_block = 0;
            warp.ready = warp.members;
        }
        block.arrived = 0;
        block.phase ^= 1;
    }
    acquire(order);
}

bool inside(const Grid& grid, Access kind, const char* address, int bytes) {
    for (const Extent& extent : *grid.extents) {
        const auto offset = static_cast<std::uint64_t>(address - extent.begin);
        if (offset < extent.bytes && extent.bytes - offset >= static_cast<std::uint64_t>(bytes))
            return kind == Access::global_load || extent.writable;
    }
    return false;
}

MSDA_UNSEEN void check(Lane& self, Access kind, const char* address, int bytes, Site site) {
    const Grid& grid = *self.owner->grid;
    Fault& fault = self.owner->fault;
    fault.kind = kind;
    fault.address = address;
    fault.bytes = bytes;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if ((at & static_cast<std::uintptr_t>((bytes & -bytes) - 1)) != 0) give_up(self, Fault::Rule::alignment, site);
    if (kind >= Access::shared_load) {
        const auto offset = static_cast<std::uint64_t>(address - self.shared);
        if (offset >= grid.shared_bytes || grid.shared_bytes - offset < static_cast<std::uint64_t>(bytes))
            give_up(self, Fault::Rule::shared_bounds, site);
    } else if (grid.extents != nullptr && !inside(grid, kind, address, bytes)) {
        give_up(self, Fault::Rule::bounds, site);
    }
}

MSDA_UNSEEN void access(Thread& thread, Access kind, const void* address, int bytes, Site site) {
    Lane& self = static_cast<Lane&>(thread);
    check(self, kind, static_cast<const char*>(address), bytes, site);
    if (!self.owner->grid->count) return;
    // Shared memory is counted from its own beginning, wherever the host put it.
    const auto base = kind >= Access::shared_load ? reinterpret_cast<std::uint64_t>(self.shared) : 0;
    self.warp->log.record(self.index & 31, kind, site, reinterpret_cast<std::uint64_t>(address) - base, bytes);
}

MSDA_UNSEEN void finish(Lane& self) {
    Block& block = *self.owner;
    self.waits_at = {};
    self.warp->ready &= ~self.bit();
    block.finished++;
    Lane* next = next_ready(block, self);
    if (next != nullptr)
        continue_with(*self.fiber, *next);
    else if (block.finished == block.threads)
        switch_fiber(*self.fiber, block.host);
    else
        give_up(self, Fault::Rule::progress, {});
}

}  // namespace

const Engine engine = {meet, warp_barrier, block_barrier, access};

MSDA_UNSEEN Thread* current_thread() { return current; }

MSDA_UNSEEN void thread_main(void* lane) {
    begin_fiber();
    Lane& self = *static_cast<Lane*>(lane);
    for (;;) {  // a turn a block
        acquire(&self.owner->started);
        self.owner->grid->entry(self.owner->grid->arguments);
        finish(self);
    }
}

MSDA_UNSEEN void run_block(Block& block) {
    const int warps = (block.threads + 31) / 32;
    for (int w = 0; w < warps; w++) {
        Warp& warp = block.warps.get()[w];
        const int members = block.threads - w * 32;
        warp.members = members >= 32 ? whole_warp : (1u << members) - 1;
        warp.ready = warp.members;
        warp.arrived = warp.at_block = 0;
    }
    block.finished = block.arrived = 0;
    block.fault = {};
    release(&block.started);
    Lane& first = block.lanes.get()[block.grid->order == Order::ascending ? 0 : block.threads - 1];
    continue_with(block.host, first);
    if (block.grid->count)
        for (int w = 0; w < warps; w++) block.warps.get()[w].log.flush(block.counts);
}

}  // namespace msda::emulation
