#include "tools/lab/shipped.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "msda/error.hpp"
#include "runtime/compare.hpp"
#include "tools/lab/cases.hpp"

namespace msda::lab {
namespace {

constexpr int most_configs = 64;
constexpr int most_text = 1 << 16;
constexpr std::int64_t multiprocessors = 132;

LabType lab_type(Type type) { return type == Type::f32 ? lab_f32 : type == Type::f16 ? lab_f16 : lab_bf16; }
bool sayable(Type type) { return type == Type::f32 || type == Type::f16 || type == Type::bf16; }

// A request and a wavefront cost 1 ns, a sector ¼: issue slots, cache cycles and traffic in one number, for the share
// of the multiprocessor with most blocks.
double time_us_of(const emulation::Counts& counts, std::int64_t blocks) {
    double cost = 0;
    for (const auto& [place, at] : counts.places)
        cost += static_cast<double>(at.requests + at.wavefronts) + 0.25 * static_cast<double>(at.sectors);
    const std::int64_t most = (blocks + multiprocessors - 1) / multiprocessors;
    return cost / 1000 * static_cast<double>(most) / static_cast<double>(blocks);
}

}  // namespace

ShippedOperator::ShippedOperator(const Attempt& attempt)
    : space_(attempt.student.function<int(const LabProblem*, LabConfig*, int)>("space")),
      emit_(attempt.student.function<int(const LabProblem*, const LabConfig*, char*, int)>("emit")),
      blocks_(attempt.student.function<long long(const LabProblem*, const LabConfig*)>("blocks")),
      flags_(attempt.flags) {}

bool ShippedOperator::can_say(const Problem& p) {
    return p.pass == Pass::forward && sayable(p.value) && sayable(p.location) && sayable(p.weight) &&
           p.output == p.value && p.sampling == Sampling::bilinear && p.specialise == Specialise::exact &&
           p.levels.size() <= LabShape::most_levels;
}

LabProblem ShippedOperator::say(const Problem& p) {
    LabProblem problem{
        shape_of(p), lab_type(p.value), lab_type(p.location), lab_type(p.weight), {}, static_cast<int>(p.alignment)};
    std::copy_n(p.strides().begin(), 3, problem.stride);
    return problem;
}

std::vector<LabConfig> ShippedOperator::space(const Problem& p) const {
    const LabProblem problem = say(p);
    std::vector<LabConfig> configs(most_configs + 1);
    const int count = space_(&problem, configs.data(), most_configs);
    if (count < 1 || count > most_configs)
        throw Failed(
            fmt::format("space() of {} returned {}; expected 1 to {} configs", canonical(p), count, most_configs));
    configs.resize(static_cast<std::size_t>(count));
    const int bytes = static_cast<int>(bytes_of(p.value));
    for (const LabConfig& config : configs) {
        const bool power = config.vector > 0 && (config.vector & (config.vector - 1)) == 0;
        const bool sane = power && config.vector >= bytes && config.vector <= 16 && config.threads >= 32 &&
                          config.threads <= 1024 && config.threads % 32 == 0;
        if (!sane)
            throw Failed(
                fmt::format("space() offers {} for {}, which no kernel can run", text_of(config), canonical(p)));
    }
    return configs;
}

std::string ShippedOperator::emit(const Problem& p, const LabConfig& config) const {
    const LabProblem problem = say(p);
    std::string text(most_text, '\0');
    const int length = emit_(&problem, &config, text.data(), most_text);
    if (length <= 0 || length >= most_text)
        throw Failed(fmt::format("emit() returned a length of {}; expected 1 to {}", length, most_text - 1));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::int64_t ShippedOperator::blocks(const Problem& p, const LabConfig& config) const {
    const LabProblem problem = say(p);
    return blocks_(&problem, &config);
}

Plan ShippedOperator::plan(const Problem& p, const LabConfig& config) const {
    Step step;
    step.kernel = "operator_forward";
    step.grid = {static_cast<std::uint32_t>(blocks(p, config)), 1, 1};
    step.threads = static_cast<std::uint32_t>(config.threads);
    step.arguments = {{Buffer::value}, {Buffer::locations}, {Buffer::weights}, {Buffer::output}};
    Plan plan;
    plan.steps = {step};
    return plan;
}

std::string text_of(const LabConfig& config) {
    return fmt::format("vector {}, threads {}", config.vector, config.threads);
}

Config to_config(const LabConfig& config) {
    Config row;
    row.vector = config.vector;
    row.threads = config.threads;
    return row;
}

LabConfig to_lab(const Config& config) { return {config.vector, config.threads}; }

std::string run_shipped(const ShippedOperator& shipped, Emulator& emulator, const Problem& p, const LabConfig& config,
                        cases::Scene scene, emulation::Counts* counts) {
    const cases::SceneTensors scene_tensors(p, scene, 0);
    const Tensors& tensors = scene_tensors.tensors();
    const Plan steps = shipped.plan(p, config);
    EmulationSettings settings;
    settings.count = counts != nullptr;
    settings.workers = 1;
    try {
        const auto module = emulator.compile(shipped.emit(p, config), shipped.flags());
        const emulation::Counts counted =
            emulator.run(steps, *module, tensors, emulation_extents(p, steps, tensors), settings);
        if (counts != nullptr) *counts = counted;
    } catch (const Error& error) {
        return fmt::format("{}\n{}", error.what(), error.log());
    }
    for (const auto& verdict : msda::verify(p, compute_reference(p, tensors, 1), tensors, 1))
        if (!verdict.passed)
            return fmt::format("norm error {:.1e} of the output, allowed {:.1e}; largest at element {}",
                               verdict.difference.norm_error, verdict.tolerance, verdict.difference.worst);
    return "";
}

void EmulatedTrack::open(const Problem& problem, const TrackSettings& settings) {
    problem_ = problem;
    kinds_ = settings.data.size();
    loaded_.clear();
    times_.clear();
}

void EmulatedTrack::load(int candidate, const Config& config, const Binary& binary) {
    static_cast<void>(binary);
    loaded_[candidate] = config;
}

std::string EmulatedTrack::verify(int candidate) {
    emulation::Counts counts;
    const LabConfig config = to_lab(loaded_.at(candidate));
    const std::string complaint = run_shipped(shipped_, emulator_, problem_, config, cases::Scene::model, &counts);
    times_[candidate] = time_us_of(counts, std::max<std::int64_t>(1, shipped_.blocks(problem_, config)));
    return complaint;
}

Sample EmulatedTrack::measure(int candidate, bool warm) {
    Sample sample;
    for (std::size_t kind = 0; kind < kinds_; kind++) {
        // A fixed sequence of offsets in ±1 %.
        turn_ = turn_ * 6364136223846793005U + 1442695040888963407U;
        const double noise = static_cast<double>(turn_ >> 40U) / static_cast<double>(1U << 24U) - 0.5;
        sample.us.push_back(times_.at(candidate) * (warm ? 0.8 : 1) * (1 + 0.02 * noise));
    }
    return sample;
}

}  // namespace msda::lab
