// The emitted kernels keep the operator's properties, in every form: linear in value, weights and grad_output, queries
// and heads in any order. Volume is for the GPU (tests/volume).
#include "tests/runtime/properties.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "generator/emit.hpp"
#include "tests/emulation/kernels.hpp"
#include "tests/matrix.hpp"
#include "tools/cases/problems.hpp"

using namespace msda;
using namespace msda::test;

namespace {

std::string broken(const Problem& p, const Config& config) {
    const Plan steps = plan(p, config);
    const auto module = emulator().compile(emit(p, config));
    const HostBuffer workspace(steps.workspace_bytes);
    return broken_property(p, Locations::model, 5, [&](const Tensors& host) {
        Tensors tensors = host;
        tensors.workspace = workspace.data();
        emulator().run(steps, *module, tensors, emulation_extents(p, steps, tensors));
    });
}

// A config of that form, where the problem has one.
std::optional<Config> with_scatter(const Problem& p, int scatter) {
    for (const Config& config : space(p, Silicon{}))
        if (config.scatter == scatter) return config;
    return std::nullopt;
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("kernels are linear in value, weights and grad_output; queries and heads in any order") {
    const std::vector<Level> levels = {{6, 9}, {3, 5}};
    for (const Type type : slice_of(std::vector{Type::f16, Type::f32}, 2)) {
        const Problem forward = normalise(cases::problem_of(Pass::forward, 2, 70, 4, 32, levels, {3}, type));
        CHECK(broken(forward, default_config(forward, Silicon{})) == "");
        const Problem backward = normalise(cases::problem_of(Pass::backward, 2, 70, 4, 32, levels, {3}, type));
        for (const int scatter : {scatter_direct, scatter_sorted, scatter_owned, scatter_dense}) {
            const auto config = with_scatter(backward, scatter);
            CHECK(config.has_value() == (scatter != scatter_dense || type == Type::f16));
            if (!config) continue;
            INFO(canonical(*config));
            CHECK(broken(backward, *config) == "");
        }
    }
}

TEST_SUITE_END();
