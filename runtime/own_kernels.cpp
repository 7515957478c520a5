#include "runtime/own_kernels.hpp"

#include <utility>

#include "generator/emit.hpp"
#include "runtime/current_context.hpp"

namespace msda {

Module load_own_kernels(Runtime& runtime, const std::shared_ptr<DeviceContext>& context, std::string name,
                        std::string source, const std::vector<std::string>& kernels, unsigned threads) {
    CompileRequest request;
    request.name = std::move(name);
    request.source = std::move(source);
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = context->device().silicon.capability;
    const auto binary = runtime.state().binaries.get(request, context->driver().version);
    Plan plan;
    for (const std::string& kernel : kernels)
        plan.steps.push_back({.kernel = kernel, .threads = threads, .arguments = {}, .target = {}});
    const CurrentContext current(context->driver(), context->handle());
    return Module(context, *binary, plan);
}

}  // namespace msda
