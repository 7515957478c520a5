// Lab 10: the learner's own generator, kernel and merging rule; the exam on the project's cases; tuner and database.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "msda/error.hpp"
#include "runtime/parallel.hpp"
#include "runtime/tuner/simulated_track.hpp"
#include "runtime/tuner/tune.hpp"
#include "tools/lab/cases.hpp"
#include "tools/lab/checks/all.hpp"
#include "tools/lab/gpu.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/shipped.hpp"
#include "tuning_db/database.hpp"

namespace msda::lab {
namespace lab10 {

std::vector<cases::NamedProblem> exam_problems() {
    std::vector<cases::NamedProblem> all = cases::forward_problems();
    std::erase_if(all, [](const cases::NamedProblem& named) { return !ShippedOperator::can_say(named.problem); });
    return all;
}

bool may_load(const Problem& p, std::int64_t vector) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(p.value));
    const auto strides = p.strides();
    return vector >= bytes && p.alignment % vector == 0 && p.head_dim * bytes % vector == 0 &&
           std::all_of(strides.begin(), strides.end(),
                       [&](std::int64_t stride) { return stride * bytes % vector == 0; });
}

void space(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    for (const cases::NamedProblem& named : exam_problems()) {
        const Problem& p = named.problem;
        std::set<std::pair<int, int>> seen;
        std::int64_t widest = 0;
        for (const LabConfig& config : shipped.space(p)) {
            require(may_load(p, config.vector), fmt::format("{}: {} would load from misaligned addresses or across "
                                                            "rows (strides {}, heads of {} {}, alignment {})",
                                                            named.name, text_of(config), fmt::join(p.strides(), ", "),
                                                            p.head_dim, name(p.value), p.alignment));
            require(seen.emplace(config.vector, config.threads).second,
                    fmt::format("{}: {} comes twice", named.name, text_of(config)));
            widest = std::max<std::int64_t>(widest, config.vector);
        }
        for (const std::int64_t vector : {16, 8, 4, 2})
            require(widest >= vector || !may_load(p, vector),
                    fmt::format("{}: loads of {} bytes are possible, the widest that space() offers are {}", named.name,
                                vector, widest));
    }
}

void blocks(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    const auto check = [&](const Problem& p, const LabConfig& config) {
        const std::int64_t parts = p.head_dim * static_cast<std::int64_t>(bytes_of(p.value)) / config.vector;
        const std::int64_t expected = (p.batch * p.queries * p.heads * parts + config.threads - 1) / config.threads;
        const std::int64_t got = shipped.blocks(p, config);
        require(got == expected,
                fmt::format("B={} Q={} M={} D={} {}, {}: expected {} blocks, got {}", p.batch, p.queries, p.heads,
                            p.head_dim, name(p.value), text_of(config), expected, got));
    };
    for (const Type type : {Type::f32, Type::f16})
        for (const LabConfig& config : {LabConfig{4, 64}, {8, 128}, {16, 256}}) {
            check(normalise(cases::problem_of(Pass::forward, 3, 7, 5, 24, {{4, 4}}, {2}, type)), config);
            check(normalise(cases::problem_of(Pass::forward, 4000, 30000, 8, 256, {{4, 4}}, {2}, type)), config);
        }
}

void check_one(const ShippedOperator& shipped, Emulator& emulator, const cases::NamedProblem& named,
               const LabConfig& config, const std::vector<cases::Scene>& scenes) {
    for (const cases::Scene scene : scenes) {
        const std::string complaint = run_shipped(shipped, emulator, named.problem, config, scene);
        require(complaint.empty(),
                fmt::format("{} ({} locations), {}: {}", named.name, cases::name(scene), text_of(config), complaint));
    }
}

cases::NamedProblem simple(Type type) {
    return {fmt::format("2 images, 9 queries, 3 levels, {}", name(type)),
            normalise(cases::problem_of(Pass::forward, 2, 9, 2, 8, {{6, 5}, {3, 4}, {2, 2}}, {2, 1, 3}, type))};
}

void emit(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    const cases::NamedProblem named = simple(Type::f32);
    const LabConfig config{8, 64};
    const std::string text = shipped.emit(named.problem, config);
    require(text == shipped.emit(named.problem, config), "the same problem gives another text the second time");
    Emulator emulator;
    check_one(shipped, emulator, named, config, {cases::Scene::uniform});
    attempt.notes.push_back(fmt::format("what emit() writes for {}:\n{}", named.name, text));
}

void kernel(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    Emulator emulator;
    for (const Type type : {Type::f32, Type::f16, Type::bf16})
        check_one(shipped, emulator, simple(type), {type == Type::f32 ? 16 : 8, 64},
                  {cases::Scene::uniform, cases::Scene::hostile});
    // What a host compiler takes, NVRTC need not.
    DeviceSource source(shipped.emit(simple(Type::f16).problem, {8, 64}), attempt.common_folder);
    source.add("kernel.cuh", read_text(attempt.folder + "/kernel.cuh"));
    try {
        expect_nvrtc_compiles(source);
        attempt.notes.push_back("NVRTC compiles it for sm_90 too");
    } catch (const Skipped& skipped) {
        attempt.notes.push_back(fmt::format("not compiled for a GPU: {}", skipped.what()));
    }
}

void exam(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    const std::vector<cases::NamedProblem> problems = exam_problems();
    struct Run {
        const cases::NamedProblem* named;
        LabConfig config;
        std::string complaint;
    };
    std::vector<Run> runs;
    for (std::size_t i = 0; i < problems.size(); i++) {
        const std::vector<LabConfig> configs = shipped.space(problems[i].problem);
        runs.push_back({&problems[i], configs.front(), {}});
        // As the project's own tests do: for every third problem another config as well.
        if (i % 3 == 0 && configs.size() > 1) runs.push_back({&problems[i], configs[configs.size() / 2], {}});
    }
    Emulator emulator;
    parallel_for(thread_count(0), static_cast<std::int64_t>(runs.size()), 1, [&](std::int64_t i, std::int64_t, int) {
        Run& run = runs[static_cast<std::size_t>(i)];
        try {
            check_one(shipped, emulator, *run.named, run.config,
                      {cases::Scene::model, cases::Scene::uniform, cases::Scene::hostile, cases::Scene::outside,
                       cases::Scene::contended});
        } catch (const Failed& failed) {
            run.complaint = failed.what();
        }
    });
    const auto failed = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !run.complaint.empty(); });
    attempt.notes.push_back(fmt::format("{} of {} kernels right, each on 5 kinds of inputs",
                                        static_cast<std::ptrdiff_t>(runs.size()) - failed, runs.size()));
    for (const Run& run : runs) require(run.complaint.empty(), run.complaint);
}

void tune(Attempt& attempt) {
    const ShippedOperator shipped(attempt);
    Emulator emulator;
    TuneRequest request;
    request.problem = normalise(cases::problem_of(Pass::forward, 1, 120, 8, 32, {{13, 21}, {7, 11}}, {4}, Type::f32));
    request.silicon = simulated_silicon();
    const std::vector<LabConfig> configs = shipped.space(request.problem);
    for (const LabConfig& config : configs) request.candidates.push_back(to_config(config));
    request.search.budget_s = 1e6;  // it ends by itself
    request.compile_threads = 1;
    EmulatedTrack track(shipped, emulator);
    const TuneOutcome outcome = msda::tune(request, track, [&](const Config& config) {
        const std::string source = shipped.emit(request.problem, to_lab(config));
        static_cast<void>(emulator.compile(source, shipped.flags()));
        return Binary{{}, source, {}};
    });
    std::string table = "config                       modelled us";
    for (std::size_t i = 0; i < configs.size(); i++) {
        const Trial& trial = outcome.trials[i];
        require(trial.fate != Fate::wrong && trial.fate != Fate::compile_failed,
                fmt::format("{}: {}", text_of(configs[i]), trial.why));
        const auto time = track.times_us().find(static_cast<int>(i));
        table += fmt::format(
            "\n{:<26} {:>13}", text_of(configs[i]),
            time == track.times_us().end() ? std::string(name(trial.fate)) : fmt::format("{:.2f}", time->second));
    }
    attempt.notes.push_back(table);
    const double first = track.times_us().at(0);
    double best = first;
    for (const auto& [candidate, time] : track.times_us()) best = std::min(best, time);
    require(outcome.timed > 1, "space() offers one config; there is nothing to choose from");
    require(
        first <= 3 * best,
        fmt::format("untuned users get the default, {} at {:.2f} us, while the best of the space takes {:.2f}; put a "
                    "better one first",
                    text_of(configs.front()), first, best));
    Database database;
    database.add(outcome.record);
    const std::string text = to_text(database);
    const ParsedDatabase parsed = parse_database(text, "tuned.json");
    require(parsed.database == database, "the database does not survive being written and read");
    const std::string record = to_line(outcome.record);
    attempt.notes.push_back(fmt::format("winner: {:.2f} us, the default {:.2f}; {}\nits record: {:.200}…",
                                        outcome.record.time_us, outcome.record.default_us, outcome.why, record));
}

// Few values a field, so that ties are common; records are told apart by their digest.
std::vector<LabRecord> records() {
    std::mt19937 random(3);
    std::vector<LabRecord> all;
    for (unsigned i = 0; i < 40; i++) {
        const double time = 1.0 + static_cast<double>(random() % 3), speedup = 1.0 + static_cast<double>(random() % 2);
        all.push_back({time, time * speedup, static_cast<int>(10 + random() % 2), 1000 - i * 7 % 40});
    }
    return all;
}

void replaces(Attempt& attempt) {
    const auto f = attempt.student.function<int(const LabRecord*, const LabRecord*)>("replaces");
    const auto text = [](const LabRecord& r) {
        return fmt::format("{{time {}, default {}, samples {}, digest {}}}", r.time_us, r.default_us, r.samples,
                           r.digest);
    };
    const LabRecord slow_node{20, 40, 50, 1}, fast_node{10, 15, 50, 2}, fewer{20, 40, 10, 3};
    require(f(&fast_node, &slow_node) == 1 && f(&slow_node, &fast_node) == 0,
            fmt::format("{} is 2 times as fast as its default, {} 1.5 times: the first should stay", text(slow_node),
                        text(fast_node)));
    require(f(&fewer, &slow_node) == 1 && f(&slow_node, &fewer) == 0,
            "of two equal speed-ups the one with more samples should stay");
    const std::vector<LabRecord> all = records();
    for (const LabRecord& a : all) {
        require(f(&a, &a) == 0, fmt::format("{} replaces itself", text(a)));
        for (const LabRecord& b : all)
            require(a.digest == b.digest || f(&a, &b) + f(&b, &a) == 1,
                    fmt::format("of {} and {}, exactly one must replace the other", text(a), text(b)));
    }
    std::set<unsigned long long> survivors;
    std::vector<LabRecord> order = all;
    std::mt19937 random(5);
    for (int turn = 0; turn < 200; turn++) {
        std::shuffle(order.begin(), order.end(), random);
        const LabRecord* kept = order.data();
        for (const LabRecord& record : order)
            if (f(kept, &record) == 1) kept = &record;
        survivors.insert(kept->digest);
    }
    require(survivors.size() == 1,
            fmt::format("40 records merged in 200 orders leave {} different winners; expected one", survivors.size()));
}

}  // namespace lab10

Checks checks_10() {
    using namespace lab10;
    return {{"10/space", space}, {"10/blocks", blocks}, {"10/emit", emit},        {"10/kernel", kernel},
            {"10/exam", exam},   {"10/tune", tune},     {"10/replaces", replaces}};
}

}  // namespace msda::lab
