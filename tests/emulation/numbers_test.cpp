// The emulated number conversions, compared with exact arithmetic in double.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "tests/emulation/kernels.hpp"

using namespace msda;
using namespace msda::test;

namespace {

// Runs `expression`, a u32 made of the u32 `v`, on every word of `in`, 32 at a time.
std::vector<std::uint32_t> convert(const std::string& expression, const std::vector<std::uint32_t>& in) {
    std::vector<std::uint32_t> out(in.size());
    SmallLaunch launch{
        kernel_source("for (int i = (b * 1024 + t) * 32; i < (b * 1024 + t + 1) * 32; i++) {\n"
                      "    const u32 v = load_global<4>(in + i).word[0];\n"
                      "    store_global<4>(out + i, Raw<4>{{" +
                      expression + "}});\n}")};
    launch.threads = 1024;
    launch.blocks = static_cast<std::uint32_t>(in.size() / (1024 * 32));
    REQUIRE(in.size() % (1024 * 32) == 0);
    run_small(launch, in, out);
    return out;
}

// The magnitude of a binary number of 16 or 8 bits, by the definition of its format.
double magnitude_of(unsigned bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    return exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                         : std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

// Whether `got` is what x > 0 rounds to: no neighbour is nearer, and a tie went to the even one. A number past the
// largest finite one counts as if the format went on, so overflow needs no rule of its own.
bool is_nearest(double x, unsigned got, int exponent_bits, int mantissa_bits) {
    const double error = std::fabs(magnitude_of(got, exponent_bits, mantissa_bits) - x);
    for (const unsigned other : {got - 1, got + 1}) {
        if (got == 0 && other != 1) continue;
        const double distance = std::fabs(magnitude_of(other, exponent_bits, mantissa_bits) - x);
        if (distance < error || (distance == error && got % 2 != 0)) return false;
    }
    return true;
}

std::vector<std::uint32_t> all_16_bit() {
    std::vector<std::uint32_t> all(0x10000);
    for (std::uint32_t i = 0; i < all.size(); i++) all[i] = i;
    return all;
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("every f16 widens exactly and comes back") {
    const auto all = all_16_bit();
    const auto floats = convert("float_to_bits(half_to_float(static_cast<u16>(v)))", all);
    const auto back = convert("float_to_half(bits_to_float(v))", floats);
    for (const std::uint32_t h : all) {
        const float f = std::bit_cast<float>(floats[h]);
        const bool special = (h & 0x7c00u) == 0x7c00u, nan = special && (h & 0x3ffu) != 0;
        REQUIRE(std::isnan(f) == nan);
        if (nan) continue;
        REQUIRE(std::signbit(f) == (h >> 15 == 1));
        if (special)
            REQUIRE(std::isinf(f));
        else
            REQUIRE(std::fabs(static_cast<double>(f)) == magnitude_of(h & 0x7fffu, 5, 10));
        REQUIRE(back[h] == h);
    }
}

TEST_CASE("every e4m3 widens exactly") {
    const auto all = all_16_bit();
    const std::string both =
        "[&] { float low, high; fp8_pair_to_floats(static_cast<u16>(v), low, high); return float_to_bits(";
    const auto low = convert(both + "low); }()", all), high = convert(both + "high); }()", all);
    const auto check = [](std::uint32_t byte, std::uint32_t bits) {
        const float f = std::bit_cast<float>(bits);
        if ((byte & 0x7fu) == 0x7fu) return std::isnan(f);
        return std::fabs(static_cast<double>(f)) == magnitude_of(byte & 0x7fu, 4, 3) &&
               std::signbit(f) == (byte >> 7 == 1);
    };
    for (const std::uint32_t pair : all) {
        REQUIRE(check(pair & 0xffu, low[pair]));
        REQUIRE(check(pair >> 8, high[pair]));
    }
}

TEST_CASE("f16 and bf16 narrow to the nearest number, ties to even") {
    std::mt19937 random(7);
    std::vector<std::uint32_t> in(8 * 1024 * 32);
    for (std::size_t i = 0; i < in.size(); i++) {
        in[i] = static_cast<std::uint32_t>(random());
        // Every second number in f16's own range, every second of all halfway between two neighbours of f16 or bf16.
        if (i % 4 >= 2) in[i] = (in[i] & 0x8fffffffu) % 0x10000000u + 0x38000000u;
        if (i % 4 == 1) in[i] = (in[i] & 0xffff0000u) | 0x8000u;
        if (i % 4 == 3) in[i] = (in[i] & 0xffffe000u) | 0x1000u;
    }
    const auto halves = convert("float_to_half(bits_to_float(v))", in),
               bfloats = convert("float_to_bfloat(bits_to_float(v))", in);
    for (std::size_t i = 0; i < in.size(); i++) {
        const float f = std::bit_cast<float>(in[i]);
        const unsigned sign = in[i] >> 31;
        if (std::isnan(f)) {
            REQUIRE(halves[i] == 0x7fff);
            REQUIRE(bfloats[i] == 0x7fff);
            continue;
        }
        REQUIRE((halves[i] >> 15) == sign);
        REQUIRE((bfloats[i] >> 15) == sign);
        const double x = std::fabs(static_cast<double>(f));
        if (std::isinf(f)) {
            REQUIRE((halves[i] & 0x7fffu) == 0x7c00u);
            REQUIRE((bfloats[i] & 0x7fffu) == 0x7f80u);
            continue;
        }
        if (x >= 65536)
            REQUIRE((halves[i] & 0x7fffu) == 0x7c00u);
        else
            REQUIRE(is_nearest(x, halves[i] & 0x7fffu, 5, 10));
        REQUIRE(is_nearest(x, bfloats[i] & 0x7fffu, 8, 7));
    }
}

TEST_CASE("pairs are packed low half first; the last f16 before infinity") {
    const std::vector<std::uint32_t> in(1024 * 32, std::bit_cast<std::uint32_t>(1.0F));
    CHECK(convert("floats_to_halves(bits_to_float(v), 2.0f)", in)[0] == 0x40003c00u);
    CHECK(convert("floats_to_bfloats(bits_to_float(v), 2.0f)", in)[0] == 0x40003f80u);
    CHECK(convert("floats_to_halves(65519.996f, 65520.0f)", in)[0] == 0x7c007bffu);
    CHECK(convert("static_cast<u32>(double_to_bits(bits_to_double(v, v)) >> 32)", in)[0] == in[0]);
}

TEST_SUITE_END();
