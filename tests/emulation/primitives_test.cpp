// The emulated primitives compute what CUDA's do: threads and blocks, barriers, warp collectives, atomics.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "tests/emulation/kernels.hpp"

using namespace msda;
using namespace msda::test;

TEST_SUITE_BEGIN("emulation");

TEST_CASE("threads and blocks know their index, and every thread runs once") {
    const std::vector<int> in(1);
    std::vector<int> out(5 * 96, -1), expected(5 * 96);
    std::iota(expected.begin(), expected.end(), 0);
    SmallLaunch launch{kernel_source("store_global<4>(out + b * 96 + t, Raw<4>{{static_cast<u32>(b * 96 + t)}});")};
    launch.blocks = 5;
    launch.threads = 96;
    run_small(launch, in, out);
    CHECK(out == expected);
}

TEST_CASE("warp collectives") {
    std::vector<int> in(64);
    for (std::size_t i = 0; i < 64; i++) in[i] = static_cast<int>(i * 7919 % 101) - 50;
    std::vector<int> out(64 * 8, -1);
    SmallLaunch launch{kernel_source(R"(
        const int v = static_cast<int>(load_global<4>(in + t).word[0]);
        const int results[8] = {shuffle(v, 3, 8), shuffle_xor(v, 5), shuffle_up(v, 4), warp_any(v == in[40]),
                                static_cast<int>(warp_ballot(v > 0)), warp_min(v), warp_max(v),
                                static_cast<int>(4.0 * shuffle(v / 4.0, 31 - t % 32, 32))};
        for (int i = 0; i < 8; i++) store_global<4>(out + t * 8 + i, Raw<4>{{static_cast<u32>(results[i])}});)")};
    launch.threads = 64;
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
        launch.settings.order = order;
        run_small(launch, in, out);
        for (int t = 0; t < 64; t++) {
            const int warp = t / 32 * 32, lane = t % 32;
            const int* r = &out[static_cast<std::size_t>(t * 8)];
            const int* v = &in[static_cast<std::size_t>(warp)];
            unsigned ballot = 0;
            for (int i = 0; i < 32; i++) ballot |= (v[i] > 0 ? 1u : 0u) << i;
            CHECK(r[0] == v[lane / 8 * 8 + 3]);
            CHECK(r[1] == v[lane ^ 5]);
            CHECK(r[2] == (lane < 4 ? v[lane] : v[lane - 4]));
            CHECK(r[3] == (std::find(v, v + 32, in[40]) != v + 32 ? 1 : 0));
            CHECK(static_cast<unsigned>(r[4]) == ballot);
            CHECK(r[5] == *std::min_element(v, v + 32));
            CHECK(r[6] == *std::max_element(v, v + 32));
            CHECK(r[7] == v[31 - lane]);
        }
    }
}

TEST_CASE("a block barrier makes shared memory visible, whatever the order of threads") {
    std::vector<int> in(256);
    std::iota(in.begin(), in.end(), 1);
    std::vector<int> out(256, -1);
    SmallLaunch launch{kernel_source(R"(
        int sum = static_cast<int>(load_global<4>(in + t).word[0]);
        for (int step = 1; step < 256; step *= 2) {  // Hillis and Steele's scan
            store_shared(shared + t, sum);
            block_barrier();
            if (t >= step) sum += load_shared(shared + t - step);
            block_barrier();
        }
        store_global<4>(out + t, Raw<4>{{static_cast<u32>(sum)}});)")};
    launch.threads = 256;
    launch.shared_bytes = 1024;
    std::vector<int> expected(256);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
        launch.settings.order = order;
        run_small(launch, in, out);
        CHECK(out == expected);
    }
}

TEST_CASE("shared atomics return the value before, and count every thread") {
    const std::vector<int> in(1);
    std::vector<int> out(64 + 3, -1);
    SmallLaunch launch{kernel_source(R"(
        if (t == 0) {
            store_shared(shared, 0);
            store_shared(shared + 1, 1000);
            store_shared(shared + 2, -1000);
        }
        block_barrier();
        const int rank = shared_add(shared, 1);
        shared_min(shared + 1, t - 7);
        shared_max(shared + 2, t - 7);
        block_barrier();
        store_global<4>(out + rank, Raw<4>{{static_cast<u32>(t)}});
        if (t < 3) store_global<4>(out + 64 + t, Raw<4>{{static_cast<u32>(load_shared(shared + t))}});)")};
    launch.threads = 64;
    launch.shared_bytes = 12;
    run_small(launch, in, out);
    CHECK(out[64] == 64);
    CHECK(out[65] == -7);
    CHECK(out[66] == 56);
    std::sort(out.begin(), out.begin() + 64);
    std::vector<int> threads(64);
    std::iota(threads.begin(), threads.end(), 0);
    CHECK(std::equal(threads.begin(), threads.end(), out.begin()));
}

TEST_CASE("reds from many blocks lose nothing") {
    const std::vector<int> in(1);
    std::vector<float> out(32, 0.0F);
    SmallLaunch launch{kernel_source(R"(
        float* sum = static_cast<float*>(out_);
        red_f32(sum, 1.0f);
        red_f32x2(sum + 2, 1.0f, 2.0f);
        red_f32x4(sum + 4, 1.0f, 2.0f, 3.0f, 4.0f);
        red_f64(static_cast<double*>(out_) + 4, 0.5);
        red_f16x2(sum + 10, 0x40003c00u);              // 1 and 2
        red_bf16x2(sum + 11, 0x40003f80u);
        red_f16x8(sum + 12, Raw<16>{{0x40003c00u, 0x40003c00u, 0, 0x3c00u}});
        red_bf16x8(sum + 16, Raw<16>{{0x40003f80u, 0x40003f80u, 0, 0x3f80u}});)")};
    launch.blocks = 8;
    launch.settings.workers = 4;
    run_small(launch, in, out);
    CHECK(out[0] == 256.0F);
    CHECK(out[2] == 256.0F);
    CHECK(out[3] == 512.0F);
    for (std::size_t i = 0; i < 4; i++) CHECK(out[4 + i] == 256.0F * static_cast<float>(i + 1));
    double sum = 0;
    std::memcpy(&sum, &out[8], sizeof sum);
    CHECK(sum == 128.0);
    const auto bits = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(out[i]); };
    CHECK(bits(10) == 0x60005c00u);  // 256 and 512 in f16
    CHECK(bits(11) == 0x44004380u);  // 256 and 512 in bf16
    CHECK(bits(12) == 0x60005c00u);
    CHECK(bits(13) == 0x60005c00u);
    CHECK(bits(14) == 0);
    CHECK(bits(15) == 0x5c00u);
    CHECK(bits(17) == 0x44004380u);
    CHECK(bits(19) == 0x4380u);
}

TEST_CASE("shared memory is poisoned before each block with the pattern asked for") {
    const std::vector<int> in(1);
    std::vector<int> out(4 * 32, 0);
    SmallLaunch launch{kernel_source(R"(
        store_global<4>(out + b * 32 + t, Raw<4>{{static_cast<u32>(load_shared(shared + t))}});
        warp_barrier();
        store_shared(shared + t, 5);)")};
    launch.blocks = 4;
    launch.shared_bytes = 128;
    launch.settings.workers = 1;
    for (const std::uint32_t poison : {0xffffffffu, 0x7149f2cau}) {  // NaN, 1e30
        launch.settings.poison = poison;
        run_small(launch, in, out);
        for (const int v : out) CHECK(static_cast<std::uint32_t>(v) == poison);
    }
}

TEST_SUITE_END();
