#include "runtime/emulation/multiprocessor.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include "msda/error.hpp"
#include "runtime/emulation/block.hpp"
#include "runtime/emulation/sanitizers.hpp"

namespace msda::emulation {
namespace {

// The shared memory of one block: exactly as long as asked for, so that AddressSanitizer sees the byte after it;
// elsewhere a guard zone follows. Mapped afresh for each block, for ThreadSanitizer would take its reuse by the next
// block for a race.
class SharedMemory {
  public:
    SharedMemory(std::size_t bytes, std::uint32_t poison) : bytes_(bytes), poison_(poison) {
#ifdef MSDA_ASAN
        void* allocated = nullptr;
        data_ = posix_memalign(&allocated, 128, bytes) == 0 ? static_cast<char*>(allocated) : nullptr;
#else
        void* mapped = mmap(nullptr, bytes + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        data_ = mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
#endif
        if (data_ == nullptr) throw Error(Code::out_of_memory, "emulation: no memory for a block's shared memory");
    }
    ~SharedMemory() {
#ifdef MSDA_ASAN
        std::free(data_);
#else
        munmap(data_, bytes_ + guard);
#endif
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    char* data() { return data_; }
    MSDA_UNSEEN void poison() {
        for (std::size_t i = 0; i < bytes_ + guard; i++) data_[i] = pattern(i);
    }
    MSDA_UNSEEN bool guard_intact() const {
        for (std::size_t i = bytes_; i < bytes_ + guard; i++)
            if (data_[i] != pattern(i)) return false;
        return true;
    }

  private:
    MSDA_UNSEEN char pattern(std::size_t i) const { return static_cast<char>(poison_ >> i % 4 * 8); }

    static constexpr std::size_t guard = under_asan ? 0 : 256;
    std::size_t bytes_;
    std::uint32_t poison_;
    char* data_ = nullptr;
};

}  // namespace

struct Multiprocessor::State {
    Block block;
    std::unique_ptr<Fibers> fibers;

    static void* lane_of(void* block, int index) {
        return &static_cast<Block*>(block)->lanes[static_cast<std::size_t>(index)];
    }

    // Fibers wait in their loop from block to block and from grid to grid; made anew only when more are needed.
    void provide(int threads) {
        if (fibers == nullptr || fibers->count() < threads) {
            fibers.reset();
            const int whole = (threads + 31) / 32 * 32;
            block.warps = std::make_unique<Warp[]>(static_cast<std::size_t>(whole / 32));
            block.lanes = std::make_unique<Lane[]>(static_cast<std::size_t>(whole));
            fibers = std::make_unique<Fibers>(whole, thread_main, lane_of, &block);
        }
        block.threads = threads;
        for (int i = 0; i < threads; i++) {
            Lane& lane = block.lanes[static_cast<std::size_t>(i)];
            lane.engine = &engine;
            lane.index = i;
            lane.owner = &block;
            lane.warp = &block.warps[static_cast<std::size_t>(i / 32)];
            lane.fiber = &(*fibers)[i];
        }
    }

    MSDA_UNSEEN void place(std::uint32_t index, char* shared) {
        for (int i = 0; i < block.threads; i++) {
            block.lanes.get()[i].block = index;
            block.lanes.get()[i].shared = shared;
        }
    }

    // To ThreadSanitizer, orders all that the fibers did before what the host thread does next.
    void settle() {
        for (int i = 0; fibers != nullptr && i < fibers->count(); i++) take_over((*fibers)[i]);
    }

    [[noreturn]] void fail(const Grid& grid, std::uint32_t index, const std::string& what) {
        settle();
        fibers.reset();  // some stand in the middle of the kernel
        throw Error(Code::driver_failed, fmt::format("emulated kernel {}, block {}: {}", grid.name, index, what));
    }

    void run_one(const Grid& grid, std::uint32_t index) {
        SharedMemory shared(grid.shared_bytes == 0 ? 128 : grid.shared_bytes, grid.poison);
        shared.poison();
        place(index, shared.data());
        run_block(block);
        if (block.fault.rule != Fault::Rule::none)
            fail(grid, index, fmt::format("thread {}: {}", block.fault.thread, describe(block)));
        if (!shared.guard_intact())
            fail(grid, index, fmt::format("wrote past the end of its {} bytes of shared memory", grid.shared_bytes));
    }
};

Multiprocessor::Multiprocessor() : state_(std::make_unique<State>()) {}
Multiprocessor::~Multiprocessor() = default;

void Multiprocessor::run(const Grid& grid, std::uint32_t first, std::uint32_t step) {
    if (grid.count && under_tsan)
        throw Error(Code::unsupported, "emulation: accesses are not counted under ThreadSanitizer; use another build");
    if (grid.threads < 1 || grid.threads > 1024)
        throw Error(Code::driver_failed, fmt::format("emulated kernel {}: expected 1 to 1024 threads a block, got {}",
                                                     grid.name, grid.threads));
    Block& block = state_->block;
    block.grid = &grid;
    block.host = host_fiber();
    state_->provide(grid.threads);
    for (std::uint64_t b = first; b < grid.blocks; b += step) state_->run_one(grid, static_cast<std::uint32_t>(b));
}

Counts Multiprocessor::collect() {
    state_->settle();
    return std::exchange(state_->block.counts, {});
}

}  // namespace msda::emulation
