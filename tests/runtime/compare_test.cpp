// What counts as equal, and that nothing else does.
#include "runtime/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace msda;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

Difference difference(const std::vector<double>& reference, const std::vector<double>& got) {
    return compare(reference, Type::f64, got.data(), 2);
}
}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("compare: norms and the worst element") {
        const Difference d = difference({3, 4, 0}, {3, 4.5, 0});
        CHECK(d.max_error == 0.5);
        CHECK(d.norm_error == doctest::Approx(0.1));
        CHECK(d.worst == 1);
        CHECK(d.within(0.11));
        CHECK(!d.within(0.09));
        CHECK(difference({}, {}).within(0));
        CHECK(difference({0, 0}, {0, -0.0}).within(0));
        CHECK(!difference({0, 0}, {0, 1e-300}).within(1));
    }

    TEST_CASE("compare: a non-finite value passes only against itself") {
        for (const double bad : {infinity, -infinity, not_a_number}) {
            CHECK(!difference({1, 2, 3}, {1, bad, 3}).within(1e300));
            CHECK(!difference({1, bad, 3}, {1, 2, 3}).within(1e300));
            CHECK(difference({1, 2, 3}, {1, bad, bad}).worst == 1);
            CHECK(difference({1, bad, 3}, {1, bad, 3}).within(0));
        }
        CHECK(!difference({infinity}, {-infinity}).within(1e300));
        CHECK(!difference({infinity}, {not_a_number}).within(1e300));
        CHECK(!difference({not_a_number}, {infinity}).within(1e300));
    }

    TEST_CASE("compare: what overflows the type is its infinity") {
        const std::uint16_t half_infinity = 0x7c00, half_largest = 0x7bff;
        CHECK(compare({1e5}, Type::f16, &half_infinity).within(0));
        CHECK(!compare({-1e5}, Type::f16, &half_infinity).within(1e300));
        CHECK(!compare({1e4}, Type::f16, &half_infinity).within(1e300));
        CHECK(!compare({1e5}, Type::f16, &half_largest).within(0.1));
    }

    TEST_CASE("compare: the same figures for any number of threads") {
        std::vector<double> reference(300000), got(300000);
        for (std::size_t i = 0; i < got.size(); i++)
            reference[i] = std::sin(static_cast<double>(i)),
            got[i] = reference[i] * (1 + 1e-9 * static_cast<double>(i % 7));
        const Difference one = compare(reference, Type::f64, got.data(), 1),
                         many = compare(reference, Type::f64, got.data(), 5);
        CHECK(one.norm_error == many.norm_error);
        CHECK(one.max_error == many.max_error);
        CHECK(one.worst == many.worst);
        CHECK(one.norm_error > 0);
    }

    TEST_CASE("compare: the tolerances of the operator") {
        CHECK(tolerance(Pass::forward, Type::f32) == 1e-6);
        CHECK(tolerance(Pass::forward, Type::f16) == 5e-4);
        CHECK(tolerance(Pass::forward, Type::bf16) == 4e-3);
        CHECK(tolerance(Pass::forward, Type::f64) == 1e-13);
        CHECK(tolerance(Pass::backward, Type::f32) == 1e-5);
        CHECK(tolerance(Pass::backward, Type::f16) == 1e-3);
        CHECK(tolerance(Pass::backward, Type::bf16) == 8e-3);
        CHECK(tolerance(Pass::backward, Type::f64) == 1e-12);
    }
}
