#include "tools/lab/gpu.hpp"

#include <fmt/format.h>

#include <cstring>

#include "msda/error.hpp"
#include "runtime/current_context.hpp"
#include "runtime/gpu_operator.hpp"
#include "runtime/measure/timer.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"
#include "tools/lab/cases.hpp"
#include "tools/lab/device_source.hpp"

namespace msda::lab {
namespace {

constexpr int capability_without_gpu = 90;

// One kernel launch on the tensors of a forward problem, its first argument a LabShape.
Plan plan_of(const Problem& problem, const std::string& kernel, std::uint32_t blocks, int threads) {
    Step step;
    step.kernel = kernel;
    step.grid = {blocks, 1, 1};
    step.threads = static_cast<std::uint32_t>(threads);
    step.arguments = {{Buffer::shape}, {Buffer::value}, {Buffer::locations}, {Buffer::weights}, {Buffer::output}};
    Plan plan;
    plan.steps = {step};
    const LabShape shape = shape_of(problem);
    plan.shape.resize(sizeof shape);
    std::memcpy(plan.shape.data(), &shape, sizeof shape);
    return plan;
}

double time_us(Timer& timer, const Operator& op, RotatingTensors& tensors) { return timer.time(op, tensors).median_us; }

}  // namespace

void expect_nvrtc_compiles(const DeviceSource& source) {
    try {
        static_cast<void>(source.ptx(capability_without_gpu));
    } catch (const Error& error) {
        if (error.code() == Code::no_compiler) throw Skipped("there is no NVRTC here; tools/setup brings one");
        throw;
    }
}

std::string time_forward(const Attempt& attempt, const Problem& problem, const std::string& kernel,
                         std::uint32_t blocks, int threads) {
    const DeviceSource source(attempt.source, attempt.common_folder);
    Runtime runtime;
    if (!runtime.has_gpu()) {
        expect_nvrtc_compiles(source);
        throw Skipped(fmt::format("NVRTC compiles the kernel for sm_{}, but there is no GPU here to run it",
                                  capability_without_gpu));
    }
    const DevicePlace place = DevicePlace::of(runtime, Device::gpu());
    const CompileRequest request = source.request(place.context->device().silicon.capability);
    const auto binary = runtime.state().binaries.get(request, place.context->driver().version);
    const Inputs inputs = make_inputs(problem, Locations::model);
    const auto own = [&] {
        const CurrentContext current(place.context->driver(), place.context->handle());
        return Operator(std::make_shared<const GpuOperator>(Identity{problem, {}, "learner", source_digest(request)},
                                                            plan_of(problem, kernel, blocks, threads), place.context,
                                                            binary.get()));
    }();
    DeviceTensors tensors(place);
    tensors.fit(problem, 0);
    tensors.upload(inputs);
    const Verification verification = verify(own, tensors, Oracle(runtime, place).compute(problem, inputs, tensors));
    if (!verification.passed()) throw Failed(fmt::format("on the GPU: {}", verification.complaint()));
    const Operator projects = runtime.prepare(problem, Device::gpu());
    RotatingTensors rotating(place, problem, inputs, projects.workspace_bytes());
    Timer timer(place);
    const double own_us = time_us(timer, own, rotating), projects_us = time_us(timer, projects, rotating);
    return fmt::format("{:.1f} us a launch with cold L2, the project's kernel {:.1f} us (ratio {:.2f})", own_us,
                       projects_us, own_us / projects_us);
}

}  // namespace msda::lab
