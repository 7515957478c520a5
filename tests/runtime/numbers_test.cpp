// Every 16-bit and 8-bit number, and rounding checked against the definition: the nearest representable, ties to the
// even one.
#include "runtime/numbers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/random.hpp"

namespace {

using namespace msda;
using namespace msda::host;

// value of a binary format by its definition: sign, exponent, fraction.
double decoded(unsigned bits, int exponent_bits, int fraction_bits) {
    const unsigned fraction = bits & ((1u << fraction_bits) - 1);
    const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const double sign = bits >> (exponent_bits + fraction_bits) & 1u ? -1 : 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp((1u << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <class T, class Bits>
void check_midpoints(unsigned largest_finite) {
    for (unsigned i = 0; i < largest_finite; i++) {
        const T low{static_cast<Bits>(i)}, high{static_cast<Bits>(i + 1)};
        const auto a = static_cast<double>(widen(low)), b = static_cast<double>(widen(high));
        const double middle = (a + b) / 2;
        const unsigned even = i % 2 == 0 ? i : i + 1;
        REQUIRE(narrow<T>(middle).bits == even);
        REQUIRE(narrow<T>(std::nextafter(middle, a)).bits ==
                i);  // closer to the middle than any float: one rounding, not two
        REQUIRE(narrow<T>(std::nextafter(middle, b)).bits == i + 1);
        REQUIRE(narrow<T>(static_cast<float>(middle)).bits == even);
        REQUIRE(narrow<T>(static_cast<float>(a)).bits == i);
        REQUIRE(narrow<T>(-middle).bits == (even | 1u << (8 * sizeof(Bits) - 1)));
    }
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("numbers: every f16, bf16 and e4m3 widens to its defined value") {
        for (unsigned i = 0; i < 0x10000; i++) {
            const float half = widen(f16{static_cast<std::uint16_t>(i)}),
                        brain = widen(bf16{static_cast<std::uint16_t>(i)});
            if ((i & 0x7c00) != 0x7c00)
                REQUIRE(static_cast<double>(half) == decoded(i, 5, 10));
            else
                REQUIRE((i & 0x3ff ? std::isnan(half) : std::isinf(half)));
            if ((i & 0x7f80) != 0x7f80)
                REQUIRE(static_cast<double>(brain) == decoded(i, 8, 7));
            else
                REQUIRE((i & 0x7f ? std::isnan(brain) : std::isinf(brain)));
            REQUIRE(std::signbit(half) == (i >> 15 == 1));
        }
        for (unsigned i = 0; i < 0x100; i++) {
            const float v = widen(e4m3{static_cast<std::uint8_t>(i)});
            if ((i & 0x7f) == 0x7f)
                REQUIRE(std::isnan(v));
            else
                REQUIRE(static_cast<double>(v) == decoded(i, 4, 3));
        }
    }

    TEST_CASE("numbers: narrowing rounds to nearest even at every midpoint") {
        check_midpoints<f16, std::uint16_t>(0x7bff);
        check_midpoints<bf16, std::uint16_t>(0x7f7f);
        check_midpoints<e4m3, std::uint8_t>(0x7e);
    }

    TEST_CASE("numbers: overflow, infinity, NaN and saturation") {
        const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
        CHECK(narrow<f16>(65519.0f).bits == 0x7bff);
        CHECK(narrow<f16>(65520.0f).bits == 0x7c00);
        CHECK(narrow<f16>(1e300).bits == 0x7c00);
        CHECK(narrow<f16>(-infinity).bits == 0xfc00);
        CHECK(std::isnan(widen(narrow<f16>(nan))));
        CHECK(std::isnan(
            widen(narrow<f16>(std::bit_cast<float>(0x7f800001u)))));  // a NaN whose payload is shifted out stays a NaN
        CHECK(narrow<bf16>(3.4e38f).bits == 0x7f80);
        CHECK(narrow<bf16>(infinity).bits == 0x7f80);
        CHECK(std::isnan(widen(narrow<bf16>(std::bit_cast<float>(0xff800001u)))));
        CHECK(narrow<e4m3>(1000.0f).bits == 0x7e);
        CHECK(narrow<e4m3>(-infinity).bits == 0xfe);
        CHECK(narrow<e4m3>(nan).bits == 0x7f);
        CHECK(narrow<f16>(-0.0f).bits == 0x8000);
        CHECK(narrow<f16>(1e-30).bits == 0);
    }

    TEST_CASE("numbers: reads and writes through a Type are what narrow and widen say") {
        double buffer[4] = {};
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3}) {
            write(type, buffer, 3, -1.75);
            CHECK(read(type, buffer, 3) == -1.75);
            CHECK(read(type, buffer, 2) == 0);
        }
        write(Type::f64, buffer, 0, 1.0 + 0x1p-50);
        CHECK(read(Type::f64, buffer, 0) == 1.0 + 0x1p-50);
    }
}
