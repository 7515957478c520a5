// The shipped shapes are the published ones, and a misspelt name gets a hint.
#include "runtime/shapes.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "msda/error.hpp"

using namespace msda;

TEST_SUITE("runtime") {
    TEST_CASE("shapes: every row is a valid problem of every type, ids are unique, encoders have a query a pixel") {
        std::set<std::string_view> ids;
        for (const ModelShape& shape : model_shapes()) {
            CAPTURE(shape.id);
            CHECK(ids.insert(shape.id).second);
            CHECK(!shape.model.empty());
            CHECK(!shape.source.empty());
            CHECK(shape.levels.size() == shape.points.size());
            for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3})
                CHECK(problem_of(shape, Pass::forward, type).total_points() > 0);
            const Problem problem = problem_of(shape, Pass::backward, Type::f16);
            CHECK(problem.location == Type::f32);
            CHECK(problem.weight == Type::f16);
            if (shape.role.starts_with("encoder self")) CHECK(problem.encoder_like());
        }
        CHECK(model_shapes().size() == 46);
    }

    TEST_CASE("shapes: known figures") {
        const Problem encoder = problem_of(model_shape("ddetr-enc"), Pass::forward, Type::f16);
        CHECK(encoder.queries == 22223);
        CHECK(encoder.pixels == 22223);
        CHECK(encoder.batch == 2);
        CHECK(model_shape("dfine").points == std::vector<std::int64_t>{3, 6, 3});
        CHECK(model_shape("rtdetr-dsp").sampling == Sampling::rtdetrv2);
        CHECK(problem_of(model_shape("codino-vit-enc"), Pass::forward, Type::f32).pixels == 218240);
    }

    TEST_CASE("shapes: an unknown id names its neighbours") {
        const auto message = [](std::string_view id) {
            try {
                (void)model_shape(id);
            } catch (const Error& error) {
                CHECK(error.code() == Code::invalid_problem);
                return std::string(error.what());
            }
            return std::string();
        };
        CHECK(message("ddetr-enk").find("ddetr-enc") != std::string::npos);
        CHECK(message("rtdter").find("rtdetr") != std::string::npos);
        CHECK(message("ddetr").find("ddetr-dec-b4") != std::string::npos);
        CHECK(message("").find("close ones") != std::string::npos);
        CHECK(message(std::string(1 << 20, 'x')).size() < 500);
    }
}
