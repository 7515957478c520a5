#include "tests/generator/draw.hpp"

#include <algorithm>

namespace msda::draw {
namespace {

void sizes_of(Problem& p, Urn& urn) {
    p.heads = urn.pick({1, 2, 3, 6, 8, 12, 16});
    p.head_dim = urn.pick({1, 2, 5, 12, 16, 20, 30, 32, 64, 71, 128, 256, 1025});
    const std::int64_t levels = urn.between(1, 5);
    for (std::int64_t l = 0; l < levels; l++)
        p.levels.push_back({urn.pick({1, 2, 7, 20, 100}), urn.pick({1, 3, 13, 167})});
    p.queries = urn.pick({1, 7, 300, 900, 5000});
    if (!urn.coin()) return;
    p.queries = 0;
    for (const Level& level : p.levels) p.queries += level.height * level.width;
}

void gaps(Problem& p, Urn& urn) {
    std::int64_t next = urn.between(0, 3);
    const bool backwards = urn.coin();
    for (std::size_t i = 0; i < p.levels.size(); i++) {
        Level& level = p.levels[backwards ? p.levels.size() - 1 - i : i];
        level.start = next;
        next += level.height * level.width + urn.between(0, 5);
    }
    p.pixels = next + urn.between(0, 4);
}

void fusion(Problem& p, Urn& urn) {
    p.softmax = urn.coin();
    p.reference_levels = p.pillars = 0;
    p.reference = urn.pick({Reference::none, Reference::points, Reference::boxes, Reference::pillars});
    if (p.reference == Reference::pillars) p.pillars = urn.between(1, 4);
    if (p.reference == Reference::points || p.reference == Reference::boxes)
        p.reference_levels = urn.coin() ? 1 : static_cast<std::int64_t>(p.levels.size());
}

}  // namespace

Problem emitted_problem(Urn& urn) {
    Problem p;
    p.pass = urn.pick({Pass::forward, Pass::backward});
    p.batch = urn.pick({1, 2, 3, 65});
    sizes_of(p, urn);
    p.points = {urn.pick({1, 2, 3, 4, 5, 8, 40})};
    p.value = urn.pick({Type::f32, Type::f16, Type::bf16, Type::f64});
    p.location = urn.coin() ? Type::f32 : p.value;
    p.weight = urn.coin() ? Type::f32 : p.value;
    p.accumulate = urn.pick({Accumulate::automatic, Accumulate::native, Accumulate::f32, Accumulate::deterministic});
    p.alignment = std::max<std::int64_t>(urn.pick({2, 4, 8, 16}), static_cast<std::int64_t>(bytes_of(p.value)));
    p.specialise = urn.pick({Specialise::exact, Specialise::family});
    p.sampling = urn.pick({Sampling::bilinear, Sampling::bilinear, Sampling::nearest, Sampling::rtdetrv2});
    p.gradients = {urn.coin(), urn.coin(), urn.coin()};
    if (urn.between(0, 2) == 0) fusion(p, urn);
    return normalise(p);
}

Problem any_problem(Urn& urn) {
    Problem p = emitted_problem(urn);
    p.batch = urn.pick({0, 1, 2, 77});
    if (urn.between(0, 7) == 0) p.queries = 0;
    if (urn.coin()) gaps(p, urn);
    for (std::int64_t& points : p.points) points = urn.between(1, 9);
    fusion(p, urn);
    if (p.pass == Pass::forward && urn.between(0, 4) == 0) {
        p.value = Type::e4m3;
        p.output = urn.pick({Type::f16, Type::bf16});
        p.location = urn.coin() ? Type::f32 : p.output;
        p.weight = urn.coin() ? Type::f32 : p.output;
    }
    if (urn.coin()) p.value_strides = {urn.between(0, 1 << 30), urn.between(0, 5000), urn.between(0, 5000)};
    return normalise(p);
}

std::initializer_list<int> capabilities() {
    static constexpr std::initializer_list<int> all = {50, 60, 70, 75, 80, 86, 89, 90, 100, 120};
    return all;
}

Silicon silicon_of(int capability) {
    Silicon s;
    s.capability = capability;
    const auto shared_kb = [&] {
        switch (capability) {
            case 70:
                return 96;
            case 75:
                return 64;
            case 80:
                return 163;
            case 90:
            case 100:
                return 227;
            default:
                return capability < 70 ? 48 : 99;
        }
    };
    s.shared_per_block = shared_kb() << 10;
    s.shared_per_sm = s.shared_per_block + 1024;
    s.threads_per_sm = capability == 75                                            ? 1024
                       : capability == 86 || capability == 89 || capability == 120 ? 1536
                                                                                   : 2048;
    if (capability == 80) s.sm_count = 108, s.l2_bytes = 40 << 20;
    return s;
}

Problem detr(Pass pass, std::int64_t batch, std::int64_t queries, Type value, Accumulate accumulate,
             Specialise specialise) {
    Problem p;
    p.pass = pass;
    p.batch = batch;
    p.levels = {{100, 167}, {50, 84}, {25, 42}, {13, 21}};
    p.queries = queries > 0 ? queries : 22223;
    p.value = value;
    p.location = value == Type::f64 ? Type::f64 : Type::f32;
    p.output = p.weight = value == Type::e4m3 ? Type::f16 : value;
    p.accumulate = accumulate;
    p.specialise = specialise;
    return normalise(p);
}

}  // namespace msda::draw
