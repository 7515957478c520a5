// Loading, verification and timing of candidates on a GPU.
#include "runtime/tuner/gpu_track.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan.hpp"
#include "msda/error.hpp"
#include "runtime/current_context.hpp"
#include "runtime/gpu_operator.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/tensor_files.hpp"
#include "runtime/verify/judge.hpp"
#include "runtime/verify/oracle.hpp"

namespace msda {
namespace {

// Two kinds of data make a sample of 1.6 ms: some 1000 samples in the 2 s that they cost at most.
constexpr double batch_us = 800;
// Queueing a launch costs the host 4 µs, more than a small kernel takes.
constexpr int most_launches = 128;

Inputs inputs_of(const Problem& problem, const std::string& kind, const TrackSettings& settings) {
    if (kind == "captured") return load_inputs(settings.captured, problem);
    if (kind == "model") return make_inputs(problem, Locations::model, settings.seed);
    if (kind == "uniform") return make_inputs(problem, Locations::uniform, settings.seed);
    throw Error(Code::invalid_argument,
                fmt::format("kind of data: expected model, uniform or captured, got '{}'", kind));
}

std::size_t largest_workspace(const Problem& problem, const Silicon& silicon) {
    std::size_t bytes = 0;
    for (const Config& config : space(problem, silicon)) bytes = std::max(bytes, plan(problem, config).workspace_bytes);
    return bytes;
}

void refuse_capture(const DeviceContext& context) {
    const Driver& driver = context.driver();
    const CurrentContext current(driver, context.handle());
    if (is_capturing(driver, CU_STREAM_LEGACY) || is_capturing(driver, CU_STREAM_PER_THREAD))
        throw Error(
            Code::not_prepared,
            "tuning was asked for while a stream is being captured; tune before the capture begins (the capture is "
            "still valid)");
}

}  // namespace

GpuTrack::~GpuTrack() {
    try {
        entrants_.clear();
        sweep();
    } catch (...) {  // the context is broken, and its modules with it
    }
}

void GpuTrack::open(const Problem& problem, const TrackSettings& settings) {
    place_ = DevicePlace::of(runtime_, Device::gpu(settings.ordinal));
    refuse_capture(*place_.context);
    // A stream that this thread cannot know of may be captured: what follows must not end that.
    const RelaxedCapture relaxed(place_.context->driver());
    entrants_.clear();
    data_.clear();
    problem_ = problem;
    const Driver& driver = place_.context->driver();
    clocks_ = Clocks(runtime_.state().loader, driver, place_.context->device().handle);
    timer_.emplace(place_);
    const std::size_t workspace = largest_workspace(problem, place_.context->device().silicon);
    for (const std::string& name : settings.data) {
        const Inputs inputs = inputs_of(problem, name, settings);
        data_.push_back(std::make_unique<RotatingTensors>(place_, problem, inputs, workspace));
        if (data_.size() == 1) reference_ = Oracle(runtime_, place_).compute(problem, inputs, data_[0]->first());
    }
    device_reference_.emplace(runtime_, place_).set(problem, reference_);
    sweep();  // the oracle's module has done its work
}

void GpuTrack::load(int candidate, const Config& config, const Binary& binary) {
    const Driver& driver = place_.context->driver();
    const RelaxedCapture relaxed(driver);
    const CurrentContext current(driver, place_.context->handle());
    Identity identity{problem_, config, "given", {}};
    auto state = std::make_shared<GpuOperator>(std::move(identity), plan(problem_, config), place_.context, &binary);
    entrants_.insert_or_assign(candidate, Entrant{Operator(std::move(state)), std::vector<int>(data_.size(), 0)});
}

void GpuTrack::unload(int candidate) {
    if (entrants_.erase(candidate) > 0) sweep();
}

// A module goes once its streams have passed a mark behind its last launch; all is done here, so it goes now.
void GpuTrack::sweep() {
    if (place_.context == nullptr || !place_.context->has_retired()) return;
    DeviceContext& context = *place_.context;
    const RelaxedCapture relaxed(context.driver());
    const CurrentContext current(context.driver(), context.handle());
    context.mark(nullptr);
    context.mark(static_cast<CUstream>(timer_->stream()));
    place_.wait(nullptr);
    place_.wait(timer_->stream());
    context.collect();
}

GpuTrack::Entrant& GpuTrack::entrant(int candidate) {
    const auto at = entrants_.find(candidate);
    if (at == entrants_.end())
        throw Error(Code::invalid_argument, fmt::format("candidate {} is not loaded", candidate));
    return at->second;
}

std::string GpuTrack::verify(int candidate) try {
    const Operator& op = entrant(candidate).op;
    DeviceTensors& tensors = data_.front()->first();
    tensors.poison();
    op.launch(tensors.addresses());
    place_.wait();
    if (tensors.overrun().empty() && device_reference_->confirms(tensors)) return {};
    return judge(problem_, tensors, reference_, 0, &outputs_).complaint();
} catch (const Error& error) {
    if (error.code() != Code::driver_failed) throw;
    throw DeviceFault(error.what());
}

double GpuTrack::batch(Entrant& entrant, std::size_t kind, bool warm) {
    int& launches = entrant.launches[kind];
    if (launches == 0) launches = std::min(most_launches, timer_->launches_for(entrant.op, *data_[kind], batch_us));
    return timer_->batch(entrant.op, *data_[kind], launches, warm);
}

Sample GpuTrack::measure(int candidate, bool warm) try {
    Sample sample;
    for (std::size_t kind = 0; kind < data_.size(); kind++) sample.us.push_back(batch(entrant(candidate), kind, warm));
    sample.sm_mhz = clocks_.sm_mhz();
    return sample;
} catch (const Error& error) {
    if (error.code() != Code::driver_failed) throw;
    throw DeviceFault(error.what());
}

}  // namespace msda
