// The pure parts of the command.
#include <doctest/doctest.h>

#include <sstream>

#include "msda/error.hpp"
#include "tools/cli/architecture.hpp"
#include "tools/cli/atomics.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/occupancy.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/table.hpp"

using namespace msda;
using namespace msda::cli;

TEST_SUITE_BEGIN("tools");

TEST_CASE("atomics are counted by kernel and opcode, in PTX and in both disassemblers' text") {
    const auto ptx = atomics_in_ptx(
        ".visible .entry one(\n\tred.relaxed.gpu.global.add.f32 [%rd1], %f1;\n\t@%p1 red.relaxed.gpu.global.add.f32 "
        "[%rd1], %f1;\n"
        ".entry two()\n{\n atom.shared.cas.b32 %r1, [%r2], %r3, %r4;\n // red.flag\n st.global.f32 [%rd2], %f2;\n}");
    REQUIRE(ptx.size() == 2);
    CHECK(ptx[0] == AtomicCount{"one", "red.relaxed.gpu.global.add.f32", 2});
    CHECK(ptx[1] == AtomicCount{"two", "atom.shared.cas.b32", 1});

    const auto cuobjdump = atomics_in_sass(
        "\t\tFunction : one\n        /*0040*/                   REDG.E.ADD.F32.FTZ.RN.STRONG.GPU [R2], R5 ;\n"
        "        /*0050*/              @!P0 ATOMS.POPC.INC.32 RZ, [R4] ;\n        /*0060*/ LDG.E R2, [R4] ;\n");
    REQUIRE(cuobjdump.size() == 2);
    CHECK(cuobjdump[0] == AtomicCount{"one", "ATOMS.POPC.INC.32", 1});
    CHECK(cuobjdump[1] == AtomicCount{"one", "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", 1});

    const auto nvdisasm = atomics_in_sass(
        "//--------------------- .text.two --------------------------\n\t.section\t.text.two,\"ax\",@progbits\n"
        ".text.two:\n        /*0010*/                   ATOMG.E.CAS PT, R0 ;\n");
    REQUIRE(nvdisasm.size() == 1);
    CHECK(nvdisasm[0] == AtomicCount{"two", "ATOMG.E.CAS", 1});
}

TEST_CASE("architectures are read by their names") {
    CHECK(parse_architecture("sm_90").capability == 90);
    CHECK(parse_architecture("90").text() == "sm_90");
    CHECK(parse_architecture("sm_100a").suffix == "a");
    CHECK(parse_architecture("sm_120f").capability == 120);
    for (const char* text : {"", "sm_", "sm_9x", "compute_90", "sm_90b", "sm_9000", "sm_10", "-90"})
        CHECK_THROWS_AS(parse_architecture(text), Error);
}

TEST_CASE("a typical GPU never allows more than its architecture does") {
    CHECK(typical_silicon(75).shared_per_block == 64 << 10);
    CHECK(typical_silicon(86).threads_per_sm == 1536);
    CHECK(typical_silicon(90).sm_count == 132);
    CHECK(typical_silicon(103).shared_per_block == 227 << 10);
    CHECK(typical_silicon(121).shared_per_block == 99 << 10);
    for (const int capability : {50, 60, 70, 75, 80, 86, 87, 89, 90, 100, 120})
        CHECK(typical_silicon(capability).capability == capability);
}

TEST_CASE("occupancy is limited by what is scarcest") {
    const Silicon h100 = typical_silicon(90);
    KernelResources kernel;
    kernel.registers = 32;
    CHECK(occupancy(kernel, 256, 0, h100).blocks_per_sm == 8);
    CHECK(occupancy(kernel, 256, 0, h100).fraction == 1);
    kernel.registers = 64;
    CHECK(occupancy(kernel, 256, 0, h100).blocks_per_sm == 4);
    CHECK(occupancy(kernel, 256, 0, h100).limit == "registers");
    kernel.registers = 48;  // 1536 a warp, 12288 a block: the count that 1280 threads an SM are made of
    CHECK(occupancy(kernel, 256, 0, h100).blocks_per_sm == 5);
    CHECK(occupancy(kernel, 256, 100 << 10, h100).blocks_per_sm == 2);
    CHECK(occupancy(kernel, 256, 100 << 10, h100).limit == "shared memory");
    CHECK(occupancy(kernel, 32, 0, h100).blocks_per_sm == 32);
    CHECK(occupancy(kernel, 32, 0, h100).limit == "blocks");
}

TEST_CASE("lists and numbers") {
    CHECK(split_list("").empty());
    CHECK(split_list("a,b") == std::vector<std::string>{"a", "b"});
    CHECK(split_list("a,") == std::vector<std::string>{"a", ""});
    CHECK(parse_integer("x", "-3", -5, 5) == -3);
    CHECK(parse_number("x", "0.25", 0, 1) == 0.25);
    for (const char* text : {"", "nan", "inf", "1e999", "0.5x", "0,5", "2"})
        CHECK_THROWS_AS(parse_number("x", text, 0, 1), Error);
    const std::vector<Level> levels = parse_levels("4x5@30,2x3");
    REQUIRE(levels.size() == 2);
    CHECK(levels[0] == Level{4, 5, 30});
    CHECK(levels[1] == Level{2, 3, -1});
}

TEST_CASE("numbers for people are short and independent of the locale") {
    CHECK(short_number(0) == "0");
    CHECK(short_number(1.234) == "1.23");
    CHECK(short_number(12.34) == "12.3");
    CHECK(short_number(123.4) == "123");
    CHECK(short_number(1234567) == "1.23e+06");
    CHECK(short_number(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(duration_text(12.3) == "12.3 µs");
    CHECK(duration_text(12345) == "12.3 ms");
}

TEST_CASE("a config's line names every scatter form") {
    Config config;
    const std::pair<Scatter, const char*> forms[] = {{scatter_direct, ", direct"},
                                                     {scatter_sorted, ", sorted 256 threads"},
                                                     {scatter_owned, ", owned 256 threads"},
                                                     {scatter_dense, ", dense 256 threads"}};
    for (const auto& [scatter, words] : forms) {
        config.scatter = scatter;
        CHECK(brief(config, Pass::backward).find(words) != std::string::npos);
        CHECK(brief(config, Pass::forward).find(words) == std::string::npos);
    }
}

TEST_CASE("tables align numbers right and count characters, not bytes") {
    Table table({"name", "µs"});
    table.add({"a", "1.5"});
    table.add({"longer", "100"});
    std::ostringstream out;
    table.print(out);
    CHECK(out.str() == "name     µs\na       1.5\nlonger  100\n");
}

TEST_SUITE_END();
