#include "tools/lab/device_source.hpp"

#include "generator/emit.hpp"
#include "runtime/runtime_state.hpp"
#include "tools/lab/lab.hpp"

namespace msda::lab {

DeviceSource::DeviceSource(std::string source, const std::string& common_folder) : source_(std::move(source)) {
    for (const char* name : {"lab.cuh", "lab_shape.hpp", "lab_operator.hpp"})
        add(name, read_text(common_folder + "/" + name));
}

CompileRequest DeviceSource::request(int capability) const {
    CompileRequest request;
    request.name = "lab.cu";
    request.source = source_;
    request.capability = capability;
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    for (const auto& [name, text] : headers_) request.headers.push_back({name, text});
    return request;
}

std::string DeviceSource::ptx(int capability) const {
    Runtime runtime;
    const auto nvrtc = runtime.state().nvrtc(0);
    return compile(request(capability), {Target::Format::ptx, capability, ""}, *nvrtc).bytes;
}

}  // namespace msda::lab
