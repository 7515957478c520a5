// Lab 04: first kernels, their results and what their accesses cost.
#include <fmt/format.h>

#include <cmath>

#include "tools/lab/checks/all.hpp"

namespace msda::lab {
namespace lab04 {

using emulation::Access;
using emulation::Counts;

// Floats that begin at a line, as a GPU's allocations do.
struct alignas(128) Line {
    float word[32];
};
struct Floats {
    std::vector<Line> lines;
    std::size_t count;

    explicit Floats(std::size_t n, float first = std::nanf(""), float step = 0) : lines(n / 32 + 1), count(n) {
        for (std::size_t i = 0; i < n; i++) data()[i] = first + step * static_cast<float>(i);
    }
    float* data() { return lines.front().word; }
    const float* input() { return data(); }
    float operator[](std::size_t i) const { return lines.front().word[i]; }
    emulation::Extent extent(const char* name, bool writable) {
        return {name, reinterpret_cast<const char*>(data()), count * sizeof(float), writable};
    }
};

void blocks_for(Attempt& attempt) {
    const auto f = attempt.student.function<int(int, int)>("blocks_for");
    for (const int threads : {1, 32, 256})
        for (const int n : {0, 1, 255, 256, 257, 1000, 1024, 1025}) {
            int expected = 0;
            while (expected * threads < n) expected++;
            require(f(n, threads) == expected,
                    fmt::format("{} elements, blocks of {}: expected {}, got {}", n, threads, expected, f(n, threads)));
        }
}

void vector_add(Attempt& attempt) {
    for (const int n : {1, 256, 1000}) {
        const auto size = static_cast<std::size_t>(n);
        Floats a(size, 1, 0.5F), b(size, 7, -0.25F), c(size);
        Launch launch{"vector_add",
                      static_cast<std::uint32_t>((n + 255) / 256),
                      256,
                      0,
                      {a.extent("a", false), b.extent("b", false), c.extent("c", true)},
                      true};
        const Counts counts = attempt.student.launch(launch, a.input(), b.input(), c.data(), n);
        for (std::size_t i = 0; i < size; i++)
            expect_near(fmt::format("n = {}: c[{}]", n, i), c[i], 8 + 0.25 * static_cast<double>(i), 1e-4);
        require(counts.of(Access::global_store).requests > 0, "nothing was written with store(); p[i] is not counted");
    }
}

void check_transpose(const StudentModule& student, int rows, int columns) {
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    Floats in(size, 0, 1), out(size);
    const auto blocks = static_cast<std::uint32_t>((rows + 31) / 32 * ((columns + 31) / 32));
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
        Launch launch{
            "transpose", blocks, 256, 33 * 32 * sizeof(float), {in.extent("in", false), out.extent("out", true)},
            true,        order};
        const Counts counts = student.launch(launch, in.input(), out.data(), rows, columns);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                expect_near(fmt::format("{} x {}: out[{}][{}]", rows, columns, c, r),
                            out[static_cast<std::size_t>(c * rows + r)], r * columns + c, 0);
        const auto loads = counts.of(Access::global_load), stores = counts.of(Access::global_store);
        const auto shared =
            counts.of(Access::shared_load).bank_conflicts + counts.of(Access::shared_store).bank_conflicts;
        require(shared == 0,
                fmt::format("{} x {}: expected no bank conflicts in shared memory, got {}", rows, columns, shared));
        if (rows % 32 != 0 || columns % 32 != 0) continue;
        const auto least = static_cast<std::int64_t>(size) / 8;
        require(loads.sectors == least && stores.sectors == least,
                fmt::format("{} x {}: expected {} sectors read and as many written, got {} and {}", rows, columns,
                            least, loads.sectors, stores.sectors));
    }
}

void transpose(Attempt& attempt) {
    check_transpose(attempt.student, 32, 32);
    check_transpose(attempt.student, 64, 96);
    check_transpose(attempt.student, 33, 70);
    check_transpose(attempt.student, 1, 5);
}

void gather(Attempt& attempt) {
    const int n = 77, table_rows = 50;
    Floats table(table_rows * 32, 0, 1), out(n * 32);
    std::vector<int> index;
    for (int i = 0; i < n; i++) index.push_back(i % 11 == 3 ? -1 - i : i * 29 % table_rows);
    Launch launch{
        "gather", (n + 31) / 32, 256, 0, {table.extent("table", false), reads("index", index), out.extent("out", true)},
        true};
    const Counts counts =
        attempt.student.launch(launch, table.input(), static_cast<const int*>(index.data()), out.data(), n);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 32; c++) {
            const int from = index[static_cast<std::size_t>(i)];
            expect_near(fmt::format("index[{}] = {}: channel {}", i, from, c),
                        out[static_cast<std::size_t>(i * 32 + c)], from < 0 ? 0 : from * 32 + c, 0);
        }
    const auto stores = counts.of(Access::global_store);
    require(stores.bytes == 16 * stores.lanes && stores.lanes == n * 8,
            fmt::format("expected each of {} lanes to store 16 bytes, got {} lanes and {} bytes", n * 8, stores.lanes,
                        stores.bytes));
    const auto loads = counts.of(Access::global_load);
    require(loads.bank_conflicts == 0,
            fmt::format("expected loads without bank conflicts, got {}", loads.bank_conflicts));
}

void warp_sums(Attempt& attempt) {
    Floats in(512, -3, 0.125F), sums(16);
    Launch launch{"warp_sums", 4, 128, 0, {in.extent("in", false), sums.extent("sums", true)}, true};
    const Counts counts = attempt.student.launch(launch, in.input(), sums.data());
    for (std::size_t w = 0; w < 16; w++) {
        double expected = 0;
        for (std::size_t i = 32 * w; i < 32 * w + 32; i++) expected += in[i];
        expect_near(fmt::format("warp {}", w), sums[w], expected, 1e-3);
    }
    const auto loads = counts.of(Access::global_load);
    require(loads.requests == 16,
            fmt::format("expected one load a warp, 16 in all, got {}; the rest should be shuffles", loads.requests));
    const auto stores = counts.of(Access::global_store);
    require(stores.lanes == 16,
            fmt::format("expected one lane of each warp to store, 16 in all, got {} lanes", stores.lanes));
}

}  // namespace lab04

Checks checks_04() {
    using namespace lab04;
    return {{"04/blocks_for", blocks_for},
            {"04/vector_add", vector_add},
            {"04/transpose", transpose},
            {"04/gather", gather},
            {"04/warp_sums", warp_sums}};
}

}  // namespace msda::lab
