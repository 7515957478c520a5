// Fused problems at random, and fused references bit by bit: the locations that the kernels compute are those of the
// CPU path, and so is every x_im.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "generator/emit.hpp"
#include "runtime/compare.hpp"
#include "runtime/numbers.hpp"
#include "runtime/sampling.hpp"
#include "tests/emulation/kernels.hpp"
#include "tests/matrix.hpp"
#include "tests/runtime/random_problem.hpp"
#include "tools/cases/problems.hpp"

using namespace msda;
using namespace msda::cases;
using namespace msda::test;

namespace {

// Coordinate `axis` of the location of point p (of the level) as the CPU path rounds it.
template <class C>
C host_location(const Problem& problem, const Tensors& t, const host::Place& level, std::int64_t l, std::int64_t bq,
                std::int64_t p, std::int64_t at, std::int64_t axis) {
    const std::int64_t first = (bq * host::references_per_query(problem) + host::reference_of(problem, l, p)) *
                               host::reference_components(problem);
    const auto number = [&](const void* tensor, std::int64_t i) {
        return static_cast<C>(host::read(problem.location, tensor, i));
    };
    const C offset = number(t.locations, 2 * at + axis), centre = number(t.references, first + axis);
    if (problem.reference == Reference::boxes)
        return host::box_location_of(centre, number(t.references, first + axis + 2), offset, level.points);
    return host::location_of(centre, offset, axis == 0 ? level.width : level.height);
}

// x_im of a location, as an integer that tells every two numbers apart and no two NaN.
template <class C>
std::uint64_t bits_of_image(const Problem& p, C location, std::int64_t extent) {
    const C im = host::image_coordinate(p.sampling, location, extent);
    std::uint64_t bits = 0;
    if (im != im) return ~bits;
    std::memcpy(&bits, &im, sizeof im);
    return bits;
}

// Coordinates whose x_im differ between the host and what the backward's first kernel left in the workspace.
template <class C>
std::int64_t differing(const Problem& problem, const Tensors& t, const C* got) {
    std::int64_t at = 0, wrong = 0;
    for (std::int64_t row = 0; row < problem.batch * problem.queries * problem.heads; row++) {
        std::int64_t l = 0;
        for (const host::Place& level : host::places(problem)) {
            for (std::int64_t p = 0; p < level.points; p++, at++)
                for (std::int64_t axis = 0; axis < 2; axis++) {
                    const std::int64_t extent = axis == 0 ? level.width : level.height;
                    const C expected = host_location<C>(problem, t, level, l, row / problem.heads, p, at, axis);
                    wrong +=
                        bits_of_image(problem, expected, extent) != bits_of_image(problem, got[2 * at + axis], extent);
                }
            l++;
        }
    }
    return wrong;
}

// Random problems to try; MSDA_TEST_CASES raises it for a run at volume.
std::uint64_t cases_wanted() {
    const char* text = std::getenv("MSDA_TEST_CASES");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : static_cast<std::uint64_t>(whole_or_slice(12, 4));
}

// Sums of few terms cancel more than a model's; a softmax's gradients cancel to nothing where a row reads one pixel.
bool close(const Problem& p, const Verdict& v) {
    return v.difference.within(3 * v.tolerance) ||
           (p.softmax && v.tensor == "grad_weights" && v.difference.max_error <= v.tolerance);
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("random fused problems agree with the reference under random configs") {
    std::uint64_t wanted = cases_wanted(), ran = 0;
    for (std::uint64_t seed = 1000; ran < wanted; seed++) {
        const Problem p = random_problem(seed);
        if (p.reference == Reference::none && !p.softmax) continue;
        const std::vector<Config> configs = space(p, Silicon{});
        const Config& config = configs[static_cast<std::size_t>(seed * 7919) % configs.size()];
        const Plan steps = plan(p, config);
        const auto module = emulator().compile(emit(p, config));
        for (const Scene scene : {Scene::model, Scene::hostile}) {
            const SceneTensors tensors(p, scene, steps.workspace_bytes);
            const Tensors& t = tensors.tensors();
            emulator().run(steps, *module, t, emulation_extents(p, steps, t));
            INFO("seed ", seed, ", ", name(scene), ": ", canonical(p), " | ", canonical(config));
            for (const Verdict& v : verify(p, compute_reference(p, t, 1), t, 1)) {
                CAPTURE(v.tensor);
                CAPTURE(v.difference.norm_error);
                CAPTURE(v.difference.max_error);
                CHECK(close(p, v));
            }
        }
        ran++;
    }
}

TEST_CASE("fused references give the x_im of the CPU path, bit by bit") {
    int checked = 0;
    // The slice is that of "fused backward kernels", so that they are compiled once.
    for (const NamedProblem& named : slice_of(fused_problems(Pass::backward), 3, 2)) {
        const Problem& p = named.problem;
        if (p.reference == Reference::none) continue;
        const Config config = default_config(p, Silicon{});
        const Plan steps = plan(p, config);
        const auto first = std::ranges::find(steps.steps, "msda_fused_points", &Step::kernel);
        REQUIRE(first != steps.steps.end());
        const Slot locations = first->arguments[3];
        REQUIRE(locations.buffer == Buffer::workspace);
        Plan only = steps;
        only.steps = {*first};
        for (const Scene scene : {Scene::model, Scene::uniform, Scene::hostile}) {
            const SceneTensors tensors(p, scene, steps.workspace_bytes);
            const Tensors& t = tensors.tensors();
            emulator().run(only, *emulator().compile(emit(p, config)), t, emulation_extents(p, steps, t));
            const char* got = static_cast<const char*>(t.workspace) + locations.offset;
            INFO(named.name, ", ", name(scene));
            CHECK((p.value == Type::f64 ? differing(p, t, reinterpret_cast<const double*>(got))
                                        : differing(p, t, reinterpret_cast<const float*>(got))) == 0);
            checked++;
        }
    }
    CHECK(checked > whole_or_slice(40, 10));
}

TEST_CASE("a fused quotient is the division's, for every mantissa's neighbourhood and every small divisor") {
    // Thread t tries divisors t + 1, t + 1025, …: 4096 mantissas of each, spread over the binade, and special numbers.
    SmallLaunch launch;
    launch.source =
        "#include \"fused.cuh\"\n"
        "extern \"C\" __global__ void __launch_bounds__(1024) kernel(const void* in_, void* out_) {\n"
        "    using namespace msda;\n"
        "    const int* in = static_cast<const int*>(in_);\n"
        "    int* out = static_cast<int*>(out_);\n"
        "    const int t = thread_index();\n"
        "    int wrong = 0;\n"
        "    for (int b = t + 1; b <= 4096; b += 1024) {\n"
        "        const float r = 1.0f / static_cast<float>(b);\n"
        "        for (int k = 0; k < 4096; k++) {\n"
        "            const float a = bits_to_float(0x3f800000u + static_cast<u32>(k * 2048 + (b * 37 + k * 11) % "
        "2048));\n"
        "            wrong += quotient(a, b, r) != a / static_cast<float>(b);\n"
        "            wrong += quotient(-a, b, r) != -a / static_cast<float>(b);\n"
        "        }\n"
        "        const float infinity = bits_to_float(0x7f800000u), nan = bits_to_float(0x7fc00000u);\n"
        "        wrong += quotient(infinity, b, r) != infinity;\n"
        "        wrong += quotient(-infinity, b, r) != -infinity;\n"
        "        wrong += quotient(nan, b, r) == quotient(nan, b, r);\n"
        "        wrong += quotient(3.4e38f, b, r) != 3.4e38f / static_cast<float>(b);\n"
        "        wrong += quotient(0.0f, b, r) != 0.0f;\n"
        "    }\n"
        "    store_global<4>(out + t, Raw<4>{{static_cast<u32>(wrong)}});\n"
        "}\n"
        "MSDA_ENTRY(kernel)\n";
    launch.threads = 1024;
    const std::vector<int> in(1024, 1);
    std::vector<int> out(1024, -1);
    run_small(launch, in, out);
    for (const int wrong : out) CHECK(wrong == 0);
}

TEST_SUITE_END();
