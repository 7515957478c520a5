// Kernels that would hang, fault or corrupt memory on a GPU are errors that say what and where.
#include <doctest/doctest.h>

#include "tests/emulation/kernels.hpp"

using namespace msda;
using namespace msda::test;

namespace {

SmallLaunch launch_of(const std::string& body, std::uint32_t threads = 64) {
    SmallLaunch launch{kernel_source(body)};
    launch.threads = threads;
    launch.shared_bytes = 256;
    return launch;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("a barrier that only some threads of the block reach") {
    const std::string error = error_of(launch_of("if (t < 40)\nblock_barrier();"));
    CHECK(contains(error, "emulated kernel kernel, block 0"));
    CHECK(contains(error, "40 threads wait at body:2, 24 have finished"));
}

TEST_CASE("a barrier in each branch of a divergent condition") {
    const std::string error = error_of(launch_of("if (t % 2)\nblock_barrier();\nelse\nblock_barrier();"));
    CHECK(contains(error, "different barriers, body:4 and body:2"));
}

TEST_CASE("a collective that a lane misses") {
    CHECK(contains(error_of(launch_of("if (t == 5) return;\nshuffle_xor(t, 1);")),
                   "31 threads wait at body:2, 33 have finished"));
    CHECK(contains(error_of(launch_of("if (t % 32 == 5) block_barrier();\nelse warp_barrier();")),
                   "not all threads reach"));
}

TEST_CASE("lanes at different collectives") {
    CHECK(contains(error_of(launch_of("if (t < 3) warp_any(true);\nelse warp_ballot(true);")),
                   "different collectives, body:1 and body:2"));
}

TEST_CASE("a collective in a warp that is not whole") {
    CHECK(contains(error_of(launch_of("warp_any(true);", 40)),
                   "collective at body:1 in a warp that has fewer than 32 threads"));
}

TEST_CASE("global accesses: bounds, read-only tensors, alignment") {
    CHECK(contains(error_of(launch_of("store_global<4>(out + 1024, Raw<4>{});")),
                   "store of 4 bytes at body:1 outside its tensor: at byte 4096 of out, which has 4096 bytes"));
    CHECK(contains(error_of(launch_of("load_global<16>(in + 1021);")), "misaligned load of 16 bytes at body:1"));
    CHECK(contains(error_of(launch_of("red_f32x4((float*)out + 1, 1, 1, 1, 1);")), "misaligned red of 16 bytes"));
    CHECK(contains(error_of(launch_of("store_global<4>(const_cast<int*>(in), Raw<4>{});")),
                   "byte 0 of in, which has 4096 read-only bytes"));
    CHECK(contains(error_of(launch_of("load_global<8>((const int*)nullptr);")), "a null pointer"));
    CHECK(contains(error_of(launch_of("load_global<4>(in - 1);")), "outside its tensor: 4 bytes before in"));
}

TEST_CASE("an output one element short") {
    SmallLaunch launch{kernel_source("store_global<4>(out + b * 32 + t, Raw<4>{});")};
    launch.blocks = 32;
    CHECK(error_of(launch).empty());
    launch.missing_bytes = 4;
    const std::string error = error_of(launch);
    CHECK(contains(error,
                   "block 31: thread 31: store of 4 bytes at body:1 outside its tensor: at byte 4092 of out, which has "
                   "4092 bytes"));
}

TEST_CASE("shared memory: bounds and the guard behind it") {
    CHECK(contains(error_of(launch_of("store_shared(shared + 64, 1);")),
                   "shared store of 4 bytes at body:1 outside shared memory: byte 256 of 256"));
    CHECK(contains(error_of(launch_of("load_shared(shared - 1);")), "outside shared memory: byte -4 of 256"));
    CHECK(error_of(launch_of("if (t == 0) store_shared(shared + 63, 1);")).empty());
#if !defined(__SANITIZE_ADDRESS__) && !defined(MSDA_TEST_ASAN)
    CHECK(contains(error_of(launch_of("volatile int* raw = shared; if (t == 0) raw[64] = 1;")),
                   "wrote past the end of its 256 bytes of shared memory"));
#endif
}

TEST_CASE("after an error the same emulator runs the next kernel") {
    const SmallLaunch good = launch_of("block_barrier();\nif (t == 0) store_global<4>(out, Raw<4>{{7}});");
    CHECK_FALSE(error_of(launch_of("if (t == 0)\nblock_barrier();")).empty());
    const std::vector<int> in(1);
    std::vector<int> out(1, 0);
    run_small(good, in, out);
    CHECK(out[0] == 7);
}

TEST_CASE("a missing barrier reads the poison of shared memory, or the order of threads shows") {
    const auto source = [](const char* barrier) {
        return kernel_source(
            std::string("store_shared(shared + t, t);\n") + barrier +
            "\nstore_global<4>(out + t, Raw<4>{{static_cast<u32>(load_shared(shared + (t + 1) % 64))}});");
    };
    const std::vector<int> in(1);
    std::vector<int> out(64), expected(64);
    for (int t = 0; t < 64; t++) expected[static_cast<std::size_t>(t)] = (t + 1) % 64;
    SmallLaunch launch{source("block_barrier();")};
    launch.threads = 64;
    launch.shared_bytes = 256;
    run_small(launch, in, out);
    CHECK(out == expected);
#if !defined(__SANITIZE_THREAD__) && !defined(MSDA_TEST_TSAN)
    launch.source = source("");
    run_small(launch, in, out);
    CHECK(out != expected);
    CHECK(out[0] == -1);
#endif
}

TEST_SUITE_END();
