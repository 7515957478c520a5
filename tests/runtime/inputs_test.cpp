// Generated inputs: the same bytes for any thread count, pinned values, and the statistics their comments promise.
#include "runtime/inputs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "runtime/numbers.hpp"
#include "runtime/random.hpp"
#include "runtime/shapes.hpp"
#include "tests/runtime/same_bytes.hpp"

namespace {

using namespace msda;
using std::int64_t;

Problem encoder() {
    Problem p;
    p.levels = {{20, 30}, {10, 15}};
    p.queries = 750;
    return normalise(p);
}

// FNV-1a of a tensor's bytes.
std::uint64_t digest(const HostBuffer& buffer) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < buffer.bytes(); i++)
        hash = (hash ^ static_cast<const unsigned char*>(buffer.data())[i]) * 0x100000001b3u;
    return hash;
}

}  // namespace

TEST_SUITE("runtime") {
    TEST_CASE("inputs: the same for any number of threads, other for another seed") {
        Problem p = encoder();
        p.pass = Pass::backward;
        p.value = Type::f16;
        p = normalise(p);
        for (const Locations kind : {Locations::uniform, Locations::model}) {
            const Inputs a = make_inputs(p, kind, 5, 1), b = make_inputs(p, kind, 5, 4), c = make_inputs(p, kind, 6, 1);
            CHECK(test::same_bytes(a.value, b.value));
            CHECK(test::same_bytes(a.locations, b.locations));
            CHECK(test::same_bytes(a.weights, b.weights));
            CHECK(test::same_bytes(a.grad_output, b.grad_output));
            CHECK(!test::same_bytes(a.value, c.value));
            CHECK(!test::same_bytes(a.locations, c.locations));
            CHECK(!test::same_bytes(a.weights, c.weights));
            CHECK(!test::same_bytes(a.grad_output, c.grad_output));
        }
    }

    TEST_CASE("inputs: the bytes are those of every platform") {
        const Inputs encoder_inputs = make_inputs(encoder(), Locations::model);
        Problem boxes;
        boxes.queries = 300;
        boxes.levels = {{8, 8}, {4, 4}};
        boxes.reference = Reference::boxes;
        boxes.reference_levels = 2;
        const Inputs decoder_inputs = make_inputs(normalise(boxes), Locations::model);
        CHECK(digest(encoder_inputs.value) == 0xd986206e104050d8u);
        CHECK(digest(encoder_inputs.locations) == 0x149d22594ee22a93u);
        CHECK(digest(encoder_inputs.weights) == 0x49a64a6af20cbaccu);
        CHECK(digest(decoder_inputs.references) == 0xde48ec7ea4642f19u);
        CHECK(digest(decoder_inputs.locations) == 0x9c1e62b5e8e583ffu);
    }

    TEST_CASE("inputs: a strided value is the dense one with NaN between its rows") {
        Problem p = encoder();
        p.value = Type::f16;
        p = normalise(p);
        const Inputs dense = make_inputs(p, Locations::model);
        p.value_strides = {200000, 40 * 8, 40};
        p = normalise(p);
        const Inputs strided = make_inputs(p, Locations::model);
        for (int64_t i = 0; i < 750 * 8; i++) {
            REQUIRE(host::load<host::f16>(strided.value.data(), i * 40 + 31).bits ==
                    host::load<host::f16>(dense.value.data(), i * 32 + 31).bits);
            if (i + 1 < 750 * 8) REQUIRE(std::isnan(host::read(Type::f16, strided.value.data(), i * 40 + 32)));
        }
    }

    TEST_CASE("inputs: random numbers have the mean, spread and range they claim") {
        const RandomStream random(1, 7);
        double sum = 0, squares = 0, uniform = 0;
        constexpr int64_t n = 1 << 18;
        for (int64_t i = 0; i < n; i++) {
            const double v = random.normal(i), u = random.uniform(i), o = random.octave(i, 4);
            sum += v;
            squares += v * v;
            uniform += u;
            REQUIRE(std::abs(v) < 4.9);
            REQUIRE((u >= 0 && u < 1 && o >= 1.0 / 16 && o < 1));
        }
        CHECK(sum / n == doctest::Approx(0).epsilon(0.01).scale(1));
        CHECK(squares / n == doctest::Approx(1).epsilon(0.01));
        CHECK(uniform / n == doctest::Approx(0.5).epsilon(0.01));
    }

    TEST_CASE("inputs: weights are positive and sum to 1") {
        const Problem p = encoder();
        const Inputs inputs = make_inputs(p, Locations::model);
        const auto* w = static_cast<const float*>(inputs.weights.data());
        for (int64_t row = 0; row < sizes(p).weights / 8; row++) {
            float total = 0;
            for (int64_t i = 0; i < 8; i++) {
                REQUIRE(w[row * 8 + i] > 0);
                total += w[row * 8 + i];
            }
            REQUIRE(total == doctest::Approx(1).epsilon(1e-5));
        }
    }

    TEST_CASE("inputs: encoder locations surround the query's own pixel at the ring's radius") {
        Problem p = encoder();
        p.batch = 4;
        p = normalise(p);
        const Inputs inputs = make_inputs(p, Locations::model);
        const auto* xy = static_cast<const float*>(inputs.locations.data());
        // Mean offset in pixels of level 1 of head 2 (direction 0, 1), point 3, over queries of level 0: (0, 4 · 0.75),
        // deviation 1.05.
        double mean[2] = {}, square = 0;
        for (int64_t q = 0; q < 4 * 750; q++) {
            if (q % 750 >= 600) continue;
            const int64_t at = ((q * 8 + 2) * 8 + 4 + 3) * 2;
            const double x = (static_cast<double>(xy[at]) - (static_cast<double>(q % 750 % 30) + 0.5) / 30) * 15;
            const double y = (static_cast<double>(xy[at + 1]) - (static_cast<double>(q % 750 / 30) + 0.5) / 20) * 10;
            mean[0] += x / 2400;
            mean[1] += y / 2400;
            square += x * x / 2400;
        }
        CHECK(mean[0] == doctest::Approx(0).epsilon(0.1).scale(1));
        CHECK(mean[1] == doctest::Approx(3).epsilon(0.03));
        CHECK(std::sqrt(square) == doctest::Approx(1.05).epsilon(0.05));
    }

    TEST_CASE("inputs: decoder locations are the boxes of fused references") {
        Problem p;
        p.queries = 50;
        p.levels = {{16, 16}, {8, 8}};
        p = normalise(p);
        const Inputs plain = make_inputs(p, Locations::model);
        p.reference = Reference::boxes;
        p.reference_levels = 1;
        p = normalise(p);
        const Inputs fused = make_inputs(p, Locations::model);
        const auto* location = static_cast<const float*>(plain.locations.data());
        const auto* offset = static_cast<const float*>(fused.locations.data());
        const auto* box = static_cast<const float*>(fused.references.data());
        for (int64_t i = 0; i < sizes(p).locations; i++) {
            const int64_t query = i / (8 * 8 * 2), axis = i % 2;
            const float* b = box + 4 * query;
            REQUIRE((b[2 + axis] >= 0.02f && b[2 + axis] <= 1 && b[axis] - b[2 + axis] / 2 >= 0 &&
                     b[axis] + b[2 + axis] / 2 <= 1));
            REQUIRE(location[i] == doctest::Approx(b[axis] + offset[i] / 4 * b[2 + axis] / 2).epsilon(1e-5));
        }
    }

    TEST_CASE("inputs: unwritten outputs are NaN in every type") {
        for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64}) {
            Problem p = encoder();
            p.value = type;
            const Outputs outputs = make_outputs(normalise(p));
            CHECK(std::isnan(host::read(type, outputs.output.data(), 0)));
            CHECK(std::isnan(host::read(type, outputs.output.data(), 750 * 256 - 1)));
        }
    }
}
