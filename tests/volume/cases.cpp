// Draws by tests::Dice, so that a case is two numbers.
#include "tests/volume/cases.hpp"

#include <algorithm>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "tests/runtime/random_problem.hpp"

namespace msda::volume {
namespace {

using test::Dice;

constexpr int most_tries = 40;

void roll_types(Problem& p, Dice& dice) {
    p.pass = dice.pick({Pass::forward, Pass::backward});
    p.value = dice.pick({Type::f32, Type::f16, Type::bf16, Type::f16, Type::bf16, Type::f64, Type::e4m3});
    if (p.value == Type::e4m3) p.pass = Pass::forward;
    p.output = p.value == Type::e4m3 ? dice.pick({Type::f16, Type::bf16}) : p.value;
    p.location = dice.chance(2) ? Type::f32 : p.output;
    p.weight = dice.chance(2) ? Type::f32 : p.output;
}

void roll_sizes(Problem& p, Dice& dice) {
    const bool long_side = dice.chance(6);
    std::int64_t next = dice.chance(4) ? dice.between(0, 9) : 0;
    const bool gaps = next > 0, backwards = dice.chance(4);
    for (std::size_t i = 0; i < p.levels.size(); i++) {
        Level& level = p.levels[gaps && backwards ? p.levels.size() - 1 - i : i];
        level.height = dice.chance(6) ? 1 : dice.between(1, long_side ? 40 : 14);
        level.width = dice.chance(6) ? 1 : dice.between(1, long_side ? 50 : 18);
        level.start = next;
        next += level.height * level.width + (gaps ? dice.between(0, 4) : 0);
    }
    p.pixels = next + (gaps ? dice.between(0, 3) : 0);
    p.batch = dice.chance(40) ? 0 : dice.between(1, 3);
    p.queries = dice.chance(40) ? 0 : dice.chance(3) ? dice.between(1, 7) : dice.between(1, 130);
    if (gaps || !dice.chance(3)) return;
    p.queries = next;  // an encoder
}

}  // namespace

std::optional<KernelCase> draw_kernel(std::uint64_t seed, const Silicon& silicon) {
    Dice dice(seed * 2 + 1);
    Problem p;
    roll_types(p, dice);
    p.heads = dice.pick({1, 2, 3, 4, 5, 6, 8, 12, 16});
    p.head_dim = dice.pick({1, 2, 3, 4, 8, 12, 16, 20, 24, 32, 32, 32, 33, 40, 48, 64, 71, 96, 128, 256});
    p.levels.resize(static_cast<std::size_t>(dice.between(1, 6)));
    p.points.clear();
    const std::int64_t points = dice.chance(3) ? 0 : dice.between(1, 8);
    for (std::size_t i = 0; i < p.levels.size(); i++) p.points.push_back(points > 0 ? points : dice.between(1, 9));
    if (dice.chance(5)) p.sampling = dice.pick({Sampling::nearest, Sampling::rtdetrv2, Sampling::rtdetrv2_square});
    p.softmax = dice.chance(5);
    if (dice.chance(5)) p.reference = dice.pick({Reference::points, Reference::boxes, Reference::pillars});
    if (p.reference == Reference::pillars) p.pillars = dice.between(1, 4);
    if (p.reference == Reference::points || p.reference == Reference::boxes)
        p.reference_levels = dice.chance(2) ? 1 : static_cast<std::int64_t>(p.levels.size());
    if (p.pass == Pass::backward) {
        p.gradients = {!dice.chance(5), !dice.chance(5), !dice.chance(5)};
        if (p.gradients == Gradients{false, false, false}) p.gradients = {};
        p.accumulate =
            dice.pick({Accumulate::automatic, Accumulate::native, Accumulate::f32, Accumulate::deterministic});
    }
    p.alignment = std::max(dice.chance(3) ? dice.pick<std::int64_t>({1, 2, 4, 8}) : 16,
                           static_cast<std::int64_t>(bytes_of(p.value)));
    p.specialise = dice.chance(5) ? Specialise::exact : Specialise::family;
    roll_sizes(p, dice);
    p.batch = std::max<std::int64_t>(p.batch, 1);
    p.queries = std::max<std::int64_t>(p.queries, 1);
    KernelCase kernel{seed, normalise(p), {}, {}};
    if (dice.chance(4)) test::roll_strides(kernel.problem, dice);
    kernel.problem = normalise(kernel.problem);
    kernel.config = default_config(kernel.problem, silicon);
    if (!why_not(kernel.problem, kernel.config, silicon).empty()) return std::nullopt;
    if (!dice.chance(3)) {
        const std::vector<Config> all = space(kernel.problem, silicon);
        kernel.config = all[static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(all.size()) - 1))];
    }
    kernel.source = emit(kernel.problem, kernel.config);
    return kernel;
}

std::optional<Problem> draw_shape(const KernelCase& kernel, std::uint64_t shape, const Silicon& silicon) {
    if (shape == 0 || kernel.problem.specialise == Specialise::exact) return kernel.problem;
    Dice dice(kernel.seed * 1'000'003 + shape);
    for (int attempt = 0; attempt < most_tries; attempt++) {
        Problem p = kernel.problem;
        p.value_strides = {0, 0, 0};
        roll_sizes(p, dice);
        p = normalise(p);
        if (!kernel.problem.dense()) test::roll_strides(p, dice);
        p = normalise(p);
        const bool served = p.empty() || emit(p, kernel.config) == kernel.source;
        if (served && why_not(p, kernel.config, silicon).empty()) return p;
    }
    return std::nullopt;
}

Inputs draw_inputs(const Problem& p, std::uint64_t seed) {
    Dice dice(seed * 2 + 7);
    Inputs inputs = make_inputs(p, dice.chance(2) ? Locations::model : Locations::uniform, seed, 1);
    const bool edges = dice.chance(2) && p.reference == Reference::none, rough = dice.chance(2),
               odd_weights = dice.chance(3);
    const std::int64_t rows = p.batch * p.queries * p.heads, points = p.total_points();
    for (std::int64_t row = 0; edges && row < rows; row++) {
        std::int64_t at = row * points;
        for (std::size_t l = 0; l < p.levels.size(); l++)
            for (std::int64_t k = 0; k < p.points[l]; k++, at++)
                for (int axis = 0; axis < 2; axis++) {
                    if (!dice.chance(4)) continue;
                    const std::int64_t side = axis == 0 ? p.levels[l].width : p.levels[l].height;
                    const std::int64_t line = dice.chance(2) ? dice.between(-1, 1) : side + dice.between(-1, 1);
                    const double beside = dice.pick({0.0, 0.5, -0.5, 1e-6, -1e-6, 1e-3, -1e-3});
                    const double pixel = static_cast<double>(dice.chance(3) ? dice.between(0, side) : line) + beside;
                    host::write(p.location, inputs.locations.data(), 2 * at + axis, pixel / static_cast<double>(side));
                }
    }
    if (rough) test::roughen(p, inputs, seed);
    for (std::int64_t i = 0; odd_weights && i < rows * points; i++)
        if (dice.chance(4))
            host::write(p.weight, inputs.weights.data(), i,
                        dice.chance(3) ? 0.0 : -host::read(p.weight, inputs.weights.data(), i));
    return inputs;
}

}  // namespace msda::volume
