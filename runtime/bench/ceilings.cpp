// Tables sized for L1, L2 and DRAM; each kernel runs long enough (about a millisecond) that its start does not count.
#include "runtime/bench/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "generator/emit.hpp"
#include "runtime/current_context.hpp"
#include "runtime/device_stream.hpp"
#include "runtime/measure/blocker.hpp"
#include "runtime/measure/robust.hpp"
#include "runtime/own_kernels.hpp"

namespace msda {
namespace {

constexpr unsigned threads = 256;  // templates/ceilings.cuh: ceiling_threads
constexpr std::size_t stream_bytes = std::size_t{512} << 20;
constexpr int repeats = 7;

constexpr std::array<const char*, 6> kernel_names = {"gather_64", "gather_128", "red_64", "red_128", "copy", "fill"};
enum Kernel : std::size_t { gather_64, gather_128, red_64, red_128, copy, fill };

// The kernels of ceilings_source(), loaded, with memory to work on.
class Meter {
  public:
    Meter(Runtime& runtime, const DevicePlace& place)
        : context_(place.context),
          module_(load_own_kernels(runtime, context_, "ceilings.cu", ceilings_source(),
                                   {kernel_names.begin(), kernel_names.end()}, threads)),
          stream_(context_),
          begin_(context_),
          end_(context_),
          first_(place),
          second_(place) {
        first_.resize(stream_bytes);
        second_.resize(stream_bytes);
        first_.fill(0);
        second_.fill(0);
        place.wait();
    }

    // Bytes a second of random rows of a table of `table_bytes` (a power of two), 16 bytes a lane.
    double rows(Kernel kernel, std::int64_t row_bytes, std::int64_t table_bytes, int steps) {
        const unsigned blocks = static_cast<unsigned>(context_->device().silicon.sm_count) * 8;
        void* table = first_.data();
        void* sink = second_.data();
        int bits = std::countr_zero(static_cast<std::uint64_t>(table_bytes / row_bytes));
        std::array<void*, 4> arguments = {&table, &bits, &steps, &sink};  // red kernels take the first three
        return 16.0 * blocks * threads * steps / seconds([&] { launch(kernel, blocks, arguments.data()); });
    }

    // Bytes read and written a second.
    double copied() {
        const void* from = first_.data();
        void* to = second_.data();
        std::int64_t count = stream_bytes / 16;
        std::array<void*, 3> arguments = {&from, &to, &count};
        return 2.0 * stream_bytes / seconds([&] { launch(copy, stream_blocks(), arguments.data()); });
    }
    double filled() {
        void* to = second_.data();
        std::int64_t count = stream_bytes / 16;
        std::array<void*, 2> arguments = {&to, &count};
        return 1.0 * stream_bytes / seconds([&] { launch(fill, stream_blocks(), arguments.data()); });
    }

    // Host microseconds of one launch, while the stream is held back.
    double bare_launch() {
        constexpr int launches = 500;
        void* to = second_.data();
        std::int64_t count = 0;
        std::array<void*, 2> arguments = {&to, &count};
        const CurrentContext current(context_->driver(), context_->handle());
        Blocker blocker(context_);
        std::vector<double> samples;
        for (int i = 0; i < repeats; i++) {
            blocker.block(stream_);
            const auto start = std::chrono::steady_clock::now();
            for (int k = 0; k < launches; k++) launch(fill, 1, arguments.data());
            const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
            blocker.release();
            stream_.synchronize();
            samples.push_back(passed.count() / launches);
        }
        return median(samples);
    }

  private:
    static unsigned stream_blocks() { return static_cast<unsigned>(stream_bytes / 16 / threads); }

    void launch(Kernel kernel, unsigned blocks, void** arguments) {
        const Driver& driver = context_->driver();
        driver.check(driver.launch_kernel, module_.function(kernel), blocks, 1u, 1u, threads, 1u, 1u, 0u,
                     stream_.handle(), arguments, static_cast<void**>(nullptr));
    }

    // Median over repeats, after one that warms the caches.
    template <class Enqueue>
    double seconds(const Enqueue& enqueue) {
        const CurrentContext current(context_->driver(), context_->handle());
        std::vector<double> samples;
        for (int i = 0; i <= repeats; i++) {
            begin_.record(stream_);
            enqueue();
            end_.record(stream_);
            end_.synchronize();
            if (i > 0) samples.push_back(end_.microseconds_since(begin_) * 1e-6);
        }
        return median(samples);
    }

    std::shared_ptr<DeviceContext> context_;
    Module module_;
    DeviceStream stream_;
    DeviceEvent begin_, end_;
    DeviceBuffer first_, second_;
};

}  // namespace

double Ceilings::of(const std::string& name) const {
    const auto found = std::ranges::find(rates, name, &Ceiling::name);
    return found == rates.end() ? 0 : found->bytes_per_s;
}

std::string ceilings_source() {
    std::string text = "// Emitted by msda-jit: memory ceilings.\n#include \"ceilings.cuh\"\n";
    const auto kernel = [&](const std::string& name, const char* parameters, const std::string& call) {
        text += fmt::format(
            "extern \"C\" __global__ void __launch_bounds__(msda::ceiling_threads) {}({}) {{\n    msda::{};\n}}\n"
            "MSDA_ENTRY({})\n",
            name, parameters, call, name);
    };
    for (const int bytes : {64, 128}) {
        kernel(fmt::format("gather_{}", bytes), "const void* table, int bits, int steps, msda::u32* sink",
               fmt::format("gather_rows<{}>(table, bits, steps, sink)", bytes));
        kernel(fmt::format("red_{}", bytes), "void* table, int bits, int steps",
               fmt::format("red_rows<{}>(table, bits, steps)", bytes));
    }
    kernel("copy", "const void* from, void* to, msda::i64 count", "copy_vectors(from, to, count)");
    kernel("fill", "void* to, msda::i64 count", "fill_vectors(to, count)");
    return text;
}

Ceilings measure_ceilings(Runtime& runtime, const DevicePlace& place) {
    Meter meter(runtime, place);
    Ceilings ceilings;
    struct Table {
        const char* memory;
        std::int64_t bytes;
        int steps;
    };
    // Sizes as in docs/benchmarks: 64 KiB lies in every L1, 16 MiB in L2, 256 MiB mostly in DRAM.
    constexpr std::array<Table, 3> tables = {
        {{"l1", 64 << 10, 4096}, {"l2", 16 << 20, 1024}, {"dram", 256 << 20, 512}}};
    for (const int row : {64, 128})
        for (const Table& table : tables)
            ceilings.rates.push_back({fmt::format("gather_{}_{}", table.memory, row),
                                      fmt::format("random {}-byte rows of {} KiB", row, table.bytes >> 10),
                                      meter.rows(row == 64 ? gather_64 : gather_128, row, table.bytes, table.steps)});
    for (const int row : {64, 128})
        ceilings.rates.push_back({fmt::format("red_{}", row),
                                  fmt::format("vector red, random {}-byte rows of 16 MiB", row),
                                  meter.rows(row == 64 ? red_64 : red_128, row, 16 << 20, 256)});
    ceilings.rates.push_back({"copy", "512 MiB read and written", meter.copied()});
    ceilings.rates.push_back({"fill", "512 MiB written", meter.filled()});
    ceilings.bare_launch_us = meter.bare_launch();
    return ceilings;
}

}  // namespace msda
