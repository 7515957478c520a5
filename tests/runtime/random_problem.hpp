// Random problems over every option of the operator, for property tests: seed in, normalised problem and its inputs
// out.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "msda/msda.hpp"
#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "runtime/random.hpp"

namespace msda::test {

// Draws choices one after the other.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed, 99) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random_.bits(next_++) % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(std::int64_t one_in) { return between(1, one_in) == 1; }
    template <class T>
    T pick(std::initializer_list<T> list) {
        return *(list.begin() + between(0, static_cast<std::int64_t>(list.size()) - 1));
    }

  private:
    RandomStream random_;
    std::int64_t next_ = 0;
};

// Levels of any size, H = 1 and W = 1 among them, in order or with gaps and in any order of starts.
inline void roll_levels(Problem& p, Dice& dice) {
    const auto levels = static_cast<std::size_t>(dice.between(1, 5));
    std::int64_t next = dice.chance(3) ? 3 : 0;
    p.levels.resize(levels);
    p.points.clear();
    for (Level& level : p.levels) {
        level.height = dice.chance(4) ? 1 : dice.between(1, 13);
        level.width = dice.chance(4) ? 1 : dice.between(1, 17);
        p.points.push_back(dice.between(1, 6));
    }
    const bool given = dice.chance(2), backwards = dice.chance(2);
    if (!given) return;
    for (std::size_t i = 0; i < levels; i++) {
        Level& level = p.levels[backwards ? levels - 1 - i : i];
        level.start = next;
        next += level.height * level.width + dice.between(0, 4);
    }
    p.pixels = next + dice.between(0, 3);
}

inline void roll_fusion(Problem& p, Dice& dice) {
    p.softmax = dice.chance(3);
    if (!dice.chance(2)) return;
    p.reference = dice.pick({Reference::points, Reference::boxes, Reference::pillars});
    if (p.reference == Reference::pillars)
        p.pillars = dice.between(1, 4);
    else
        p.reference_levels = dice.chance(2) ? 1 : static_cast<std::int64_t>(p.levels.size());
}

inline void roll_strides(Problem& p, Dice& dice) {
    const std::int64_t head = p.head_dim + dice.between(0, 3);
    const bool pixels_inside = dice.chance(2);  // (B, M, S, D) in memory
    const std::int64_t outer = (pixels_inside ? p.pixels : p.heads) * head + dice.between(0, 5);
    const std::int64_t image = (pixels_inside ? p.heads : p.pixels) * outer + dice.between(0, 7);
    p.value_strides = pixels_inside ? std::array{image, head, outer} : std::array{image, outer, head};
}

inline Problem random_problem(std::uint64_t seed) {
    Dice dice(seed);
    Problem p;
    p.pass = dice.pick({Pass::forward, Pass::backward});
    p.value = dice.pick({Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3});
    if (p.value == Type::e4m3) p.pass = Pass::forward;
    p.output = p.value == Type::e4m3 ? dice.pick({Type::f16, Type::bf16}) : p.value;
    p.location = dice.chance(2) ? Type::f32 : p.output;
    p.weight = dice.chance(2) ? Type::f32 : p.output;
    p.batch = dice.between(1, 3);
    p.queries = dice.between(3, 40);
    p.heads = dice.pick({1, 2, 3, 6, 8, 12});
    p.head_dim = dice.pick({1, 3, 4, 8, 12, 16, 20, 30, 32, 40, 64, 71});
    p.sampling = dice.chance(2) ? Sampling::bilinear
                                : dice.pick({Sampling::nearest, Sampling::rtdetrv2, Sampling::rtdetrv2_square});
    roll_levels(p, dice);
    roll_fusion(p, dice);
    p.gradients = {dice.chance(2), dice.chance(2), dice.chance(2)};
    if (p.gradients == Gradients{false, false, false}) p.gradients = {};
    p = normalise(p);
    if (dice.chance(3)) roll_strides(p, dice);
    return normalise(p);
}

// Puts locations on pixel lines, borders, far outside and to NaN and ±Inf, about one in eight.
inline void roughen(const Problem& p, Inputs& inputs, std::uint64_t seed) {
    Dice dice(seed ^ 0x5eed);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < sizes(p).locations; i++) {
        if (!dice.chance(16)) continue;
        const double v =
            dice.pick({0.0, -0.0, 1.0, 0.5, -0.5, 1.5, 1e30, -1e30, infinity, -infinity, std::nan(""), 1e-20, 0.25});
        host::write(p.location, inputs.locations.data(), i, v);
    }
}

}  // namespace msda::test
