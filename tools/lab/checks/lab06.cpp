// Lab 06: a fast forward, judged by counted requests, bytes and bank conflicts, and on a GPU by microseconds.
#include <fmt/format.h>

#include <set>

#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"
#include "tools/lab/gpu.hpp"

namespace msda::lab {
namespace lab06 {

using emulation::Access;
using emulation::AccessCounts;
using emulation::Counts;

constexpr int heads = 8, tile = 32;

struct Place {
    int row, column;
    float lx, ly;
    unsigned valid;
};
struct Work {
    int image, query, head;
};

Problem problem_of(std::int64_t batch, std::int64_t queries, Type type) {
    return cases::problem_of(Pass::forward, batch, queries, heads, 32, {{13, 21}, {7, 11}, {4, 6}, {2, 3}}, {4}, type);
}

std::vector<Case> fast_cases(Type type) {
    std::vector<Case> all;
    for (const auto scene : {cases::Scene::model, cases::Scene::hostile, cases::Scene::outside})
        all.push_back(case_of(fmt::format("2 images, 37 queries ({} locations)", cases::name(scene)),
                              problem_of(2, 37, type), scene));
    all.push_back(case_of("1 image, 1 query", problem_of(1, 1, type), cases::Scene::model));
    return all;
}

std::uint32_t tiles_of(const Problem& p) {
    return static_cast<std::uint32_t>(p.batch * ((p.queries + tile - 1) / tile) * (heads / 2));
}

// Runs a kernel on a case, compares with the reference and returns the counts.
Counts run(const StudentModule& student, const Case& c, const std::string& kernel, std::uint32_t blocks) {
    const Launch launch{kernel, blocks, 256, 0, c.memory(), true};
    const Tensors& t = c.tensors.tensors();
    Counts counts = student.launch(launch, c.shape, t.value, t.locations, t.weights, t.output);
    expect_reference(c);
    return counts;
}

// Loads of 16 bytes a lane, and all others.
struct Loads {
    AccessCounts wide, narrow;

    explicit Loads(const Counts& counts) {
        for (const auto& [place, at] : counts.places)
            if (place.kind == Access::global_load) (at.bytes == 16 * at.lanes ? wide : narrow) += at;
    }
    std::int64_t requests() const { return wide.requests + narrow.requests; }
};

void expect_points_once(const Case& c, const Loads& loads) {
    const std::int64_t points = c.problem.batch * c.problem.queries * heads * 16 * 12;
    require(loads.narrow.bytes <= points,
            fmt::format(
                "{}: locations and weights are {} bytes, and loads of less than 16 bytes a lane fetch {}; read each "
                "point once, and value by 16 bytes",
                c.name, points, loads.narrow.bytes));
}

void corner_weights(Attempt& attempt) {
    const auto f = attempt.student.function<void(Place, float, float*)>("corners");
    for (unsigned valid = 0; valid < 16; valid++) {
        float got[4] = {-1, -1, -1, -1};
        f({3, 4, 0.25F, 0.75F, valid}, 2, got);
        const double expected[4] = {0.375, 0.125, 1.125, 0.375};
        for (unsigned c = 0; c < 4; c++)
            expect_near(fmt::format("lx = 0.25, ly = 0.75, weight 2, valid {:04b}: corner {}", valid, c), got[c],
                        (valid >> c & 1U) != 0 ? expected[c] : 0, 1e-6);
    }
}

// A forward in f32 whose blocks hold 32 rows, with a bound on its load requests a row.
void check_rows(Attempt& attempt, const std::string& kernel, double most, bool once) {
    for (const Case& c : fast_cases(Type::f32)) {
        const std::int64_t rows = c.problem.batch * c.problem.queries * heads;
        const Loads loads(run(attempt.student, c, kernel, static_cast<std::uint32_t>((rows + 31) / 32)));
        if (rows % 4 != 0 || rows < 64) continue;
        const double each = static_cast<double>(loads.requests()) / static_cast<double>(rows);
        require(each <= most,
                fmt::format("{}: expected at most {} load requests a row, got {:.1f}", c.name, most, each));
        require(
            loads.wide.bank_conflicts == 0,
            fmt::format("{}: expected no bank conflicts in loads of 16 bytes, got {}; 8 neighbouring lanes share a row",
                        c.name, loads.wide.bank_conflicts));
        if (once) expect_points_once(c, loads);
        if (c.name.find("model") != std::string::npos)
            attempt.notes.push_back(fmt::format(
                "{:.1f} load requests a row, {:.1f} sectors, {:.1f} wavefronts", each,
                static_cast<double>(loads.wide.sectors + loads.narrow.sectors) / static_cast<double>(rows),
                static_cast<double>(loads.wide.wavefronts + loads.narrow.wavefronts) / static_cast<double>(rows)));
    }
}

void vector(Attempt& attempt) { check_rows(attempt, "forward_vector", 30, false); }
void share(Attempt& attempt) { check_rows(attempt, "forward_share", 18, true); }

void tile_work(Attempt& attempt) {
    const auto f = attempt.student.function<Work(int, int, int)>("work");
    const int queries = 70, images = 2, blocks = images * 3 * (heads / 2);
    std::set<std::tuple<int, int, int>> seen;
    for (int block = 0; block < blocks; block++)
        for (int group = 0; group < 64; group++) {
            const Work got = f(block, group, queries);
            const std::string where = fmt::format("{} queries: block {}, group {}", queries, block, group);
            const int first = block / (heads / 2) % 3 * tile, pair = block % (heads / 2);
            if (got.query == -1) {
                require(first + tile > queries, where + ": query −1, but the tile does not stick out");
                continue;
            }
            require(got.image == block / (heads / 2) / 3,
                    fmt::format("{}: expected image {}, got {}", where, block / (heads / 2) / 3, got.image));
            require(got.query >= first && got.query < std::min(first + tile, queries),
                    fmt::format("{}: expected a query from {} to {}, got {}", where, first,
                                std::min(first + tile, queries) - 1, got.query));
            require(got.head / 2 == pair,
                    fmt::format("{}: expected head {} or {}, got {}", where, 2 * pair, 2 * pair + 1, got.head));
            require(seen.emplace(got.image, got.query, got.head).second,
                    fmt::format("{}: image {}, query {}, head {} is worked on twice", where, got.image, got.query,
                                got.head));
        }
    const auto rows = static_cast<std::size_t>(images * queries * heads);
    require(seen.size() == rows,
            fmt::format("{} queries, 2 images: expected {} rows in all, got {}", queries, rows, seen.size()));
}

void half(Attempt& attempt) {
    for (const Case& c : fast_cases(Type::f16)) {
        const Loads loads(run(attempt.student, c, "forward_half", tiles_of(c.problem)));
        if (loads.wide.requests > 0 && c.name.find("model") != std::string::npos)
            attempt.notes.push_back(
                fmt::format("values: {} requests, {} sectors, {} wavefronts, {} of them for bank conflicts",
                            loads.wide.requests, loads.wide.sectors, loads.wide.wavefronts, loads.wide.bank_conflicts));
        require(loads.wide.bank_conflicts == 0,
                fmt::format("{}: expected no bank conflicts in loads of 16 bytes, got {}", c.name,
                            loads.wide.bank_conflicts));
        expect_points_once(c, loads);
    }
}

void microseconds(Attempt& attempt) {
    Problem p = problem_of(1, 22223, Type::f16);
    p.levels = {{100, 167}, {50, 84}, {25, 42}, {13, 21}};
    p = normalise(p);
    attempt.notes.push_back(time_forward(attempt, p, "forward_half", tiles_of(p), 256));
}

}  // namespace lab06

Checks checks_06() {
    using namespace lab06;
    return {{"06/corner_weights", corner_weights},
            {"06/vector", vector},
            {"06/share", share},
            {"06/tile", tile_work},
            {"06/half", half},
            {"06/microseconds", microseconds}};
}

}  // namespace msda::lab
