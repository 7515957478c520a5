#include "tools/lab/gpu.hpp"

#include <fmt/format.h>

#include <cstring>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "runtime/current_context.hpp"
#include "runtime/gpu_operator.hpp"
#include "runtime/measure/timer.hpp"
#include "runtime/runtime_state.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"
#include "tools/lab/cases.hpp"
#include "tools/lab/lab.hpp"

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

// The attempt's source and all that it includes, as texts.
struct Request {
    std::string lab_header, shape_header;
    CompileRequest request;

    Request(const Attempt& attempt, int capability)
        : lab_header(read_text(attempt.common_folder + "/lab.cuh")),
          shape_header(read_text(attempt.common_folder + "/lab_shape.hpp")) {
        request.name = "lab.cu";
        request.source = attempt.source;
        request.capability = capability;
        for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
        request.headers.push_back({"lab.cuh", lab_header});
        request.headers.push_back({"lab_shape.hpp", shape_header});
    }
};

double time_us(Timer& timer, const Operator& op, RotatingTensors& tensors) { return timer.time(op, tensors).median_us; }

}  // namespace

std::string time_forward(const Attempt& attempt, const Problem& problem, const std::string& kernel,
                         std::uint32_t blocks, int threads) {
    Runtime runtime;
    const bool gpu = runtime.has_gpu();
    const Request request(attempt, gpu ? runtime.silicon(Device::gpu()).capability : capability_without_gpu);
    if (!gpu) {
        try {
            runtime.state().binaries.get(request.request, 0);
        } catch (const Error& error) {
            if (error.code() == Code::no_compiler) throw Skipped("there is neither a GPU nor NVRTC here");
            throw;
        }
        throw Skipped("NVRTC compiles the kernel for sm_90, but there is no GPU here to run it");
    }
    const DevicePlace place = DevicePlace::of(runtime, Device::gpu());
    const auto binary = runtime.state().binaries.get(request.request, place.context->driver().version);
    const Inputs inputs = make_inputs(problem, Locations::model);
    const auto own = [&] {
        const CurrentContext current(place.context->driver(), place.context->handle());
        return Operator(std::make_shared<const GpuOperator>(
            Identity{problem, {}, "learner", source_digest(request.request)}, plan_of(problem, kernel, blocks, threads),
            place.context, binary.get()));
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
