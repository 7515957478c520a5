#include "runtime/compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "msda/error.hpp"
#include "runtime/digest.hpp"

namespace msda {
namespace {

// Raises every key when the meaning of a cached binary changes.
constexpr std::string_view key_schema = "msda-binary-1";

// One program of NVRTC, destroyed with this object.
class Program {
  public:
    Program(const Nvrtc& nvrtc, const CompileRequest& request) : nvrtc_(nvrtc) {
        // NVRTC takes C strings, and a string_view need not end with a zero.
        for (const SourceText& header : request.headers) {
            texts_.emplace_back(header.text);
            names_.emplace_back(header.name);
        }
        std::vector<const char*> texts;
        std::vector<const char*> names;
        for (const std::string& text : texts_) texts.push_back(text.c_str());
        for (const std::string& name : names_) names.push_back(name.c_str());
        const nvrtcResult result = nvrtc_.create_program(&program_, request.source.c_str(), request.name.c_str(),
                                                         static_cast<int>(texts.size()), texts.data(), names.data());
        if (result != NVRTC_SUCCESS) fail("nvrtcCreateProgram", result);
    }
    ~Program() {
        if (program_ != nullptr) nvrtc_.destroy_program(&program_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    nvrtcResult compile(const std::vector<std::string>& options) {
        std::vector<const char*> pointers;
        pointers.reserve(options.size());
        for (const std::string& option : options) pointers.push_back(option.c_str());
        return nvrtc_.compile_program(program_, static_cast<int>(pointers.size()), pointers.data());
    }

    std::string log() { return text(nvrtc_.get_program_log_size, nvrtc_.get_program_log, "nvrtcGetProgramLog"); }
    std::string ptx() { return text(nvrtc_.get_ptx_size, nvrtc_.get_ptx, "nvrtcGetPTX"); }
    std::string cubin() { return bytes(nvrtc_.get_cubin_size, nvrtc_.get_cubin, "nvrtcGetCUBIN"); }

    [[noreturn]] void fail(const char* call, nvrtcResult result) {
        throw Error(Code::compile_failed, fmt::format("{} failed: {}", call, nvrtc_.get_error_string(result)));
    }

  private:
    std::string bytes(decltype(Nvrtc::get_ptx_size) size_of, decltype(Nvrtc::get_ptx) get, const char* call) {
        std::size_t size = 0;
        if (const nvrtcResult result = size_of(program_, &size); result != NVRTC_SUCCESS) fail(call, result);
        std::string content(size, '\0');
        if (const nvrtcResult result = get(program_, content.data()); result != NVRTC_SUCCESS) fail(call, result);
        return content;
    }

    // NVRTC counts the terminating zero of a text.
    std::string text(decltype(Nvrtc::get_ptx_size) size_of, decltype(Nvrtc::get_ptx) get, const char* call) {
        std::string content = bytes(size_of, get, call);
        while (!content.empty() && content.back() == '\0') content.pop_back();
        return content;
    }

    const Nvrtc& nvrtc_;
    nvrtcProgram program_ = nullptr;
    std::vector<std::string> texts_;
    std::vector<std::string> names_;
};

std::vector<std::string> all_options(const CompileRequest& request, const std::string& architecture) {
    std::vector<std::string> options = request.options;
    std::sort(options.begin(), options.end());
    options.insert(options.begin(), {"--std=c++20", "--gpu-architecture=" + architecture});
    return options;
}

std::string log_of(Program& program, const CompileRequest& request) {
    std::vector<SourceText> sources = {{request.name, request.source}};
    sources.insert(sources.end(), request.headers.begin(), request.headers.end());
    return explain_log(program.log(), sources);
}

void compile_program(Program& program, const CompileRequest& request, const std::vector<std::string>& options,
                     const NvrtcLibrary& nvrtc) {
    const nvrtcResult result = program.compile(options);
    if (result == NVRTC_SUCCESS) return;
    const char* hint =
        result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? "; its libnvrtc-builtins library must lie beside it" : "";
    throw Error(Code::compile_failed,
                fmt::format("NVRTC {} ({}) failed with {} on {}{}; options: {}", version_text(nvrtc.info().version),
                            nvrtc.path(), nvrtc.functions().get_error_string(result), request.name, hint,
                            fmt::join(options, " ")),
                log_of(program, request));
}

// A CUDA version whose NVRTC still compiles for a GPU that newer ones have dropped.
std::string_view version_that_works(int capability) {
    if (capability >= 75) return "13.0 or newer";
    if (capability >= 50) return "12.0 to 12.9 (CUDA 13 dropped it)";
    return "none that msda can use: CUDA 11.8 was the last, and 12.0 is the oldest that works here";
}

}  // namespace

std::string Target::architecture() const {
    return fmt::format("{}_{}{}", format == Format::cubin ? "sm" : "compute", capability, suffix);
}

Target choose_target(const NvrtcLibrary& nvrtc, int capability, const std::string& suffix, int driver_version) {
    const std::vector<int>& known = nvrtc.info().architectures;
    const auto above = std::upper_bound(known.begin(), known.end(), capability);
    const std::string library = fmt::format("NVRTC {} ({})", version_text(nvrtc.info().version), nvrtc.path());
    if (above == known.begin())
        throw Error(Code::unsupported,
                    fmt::format("{} does not compile for sm_{}, it knows sm_{} to sm_{}; a version that works: CUDA {}",
                                library, capability, known.front(), known.back(), version_that_works(capability)));
    const int nearest = *(above - 1);
    if (nearest == capability) return {Target::Format::cubin, capability, suffix};
    if (!suffix.empty())
        throw Error(Code::unsupported, fmt::format("{} does not know sm_{}{}, its newest below is sm_{}", library,
                                                   capability, suffix, nearest));
    if (driver_version != 0 && nvrtc.info().version > driver_version)
        throw Error(
            Code::unsupported,
            fmt::format("{} does not know sm_{}, and its PTX of compute_{} is too new for the driver (CUDA {}); use an "
                        "NVRTC that knows sm_{} or one no newer than the driver",
                        library, capability, nearest, version_text(driver_version), capability));
    return {Target::Format::ptx, nearest, ""};
}

std::string key_of(const CompileRequest& request, const Target& target, const NvrtcLibrary& nvrtc,
                   std::string_view library_version) {
    Digest digest;
    digest.add(key_schema).add(library_version).add(nvrtc.info().version);
    digest.add(request.name).add(request.source).add(static_cast<std::int64_t>(request.headers.size()));
    for (const SourceText& header : request.headers) digest.add(header.name).add(header.text);
    for (const std::string& option : all_options(request, target.architecture())) digest.add(option);
    return digest.hex();
}

std::string source_digest(const CompileRequest& request) {
    Digest digest;
    digest.add(request.source).add(static_cast<std::int64_t>(request.headers.size()));
    for (const SourceText& header : request.headers) digest.add(header.name).add(header.text);
    return digest.hex();
}

Binary compile(const CompileRequest& request, const Target& target, const NvrtcLibrary& nvrtc) {
    Program program(nvrtc.functions(), request);
    compile_program(program, request, all_options(request, target.architecture()), nvrtc);
    return {target, target.format == Target::Format::cubin ? program.cubin() : program.ptx(), program.log()};
}

Inspection inspect(const CompileRequest& request, const NvrtcLibrary& nvrtc) {
    const Target target = choose_target(nvrtc, request.capability, request.suffix, 0);
    std::vector<std::string> options = all_options(request, target.architecture());
    const bool machine_code = target.format == Target::Format::cubin;
    if (machine_code) options.emplace_back("--ptxas-options=-v");
    Program program(nvrtc.functions(), request);
    compile_program(program, request, options, nvrtc);
    Inspection result;
    result.ptx = program.ptx();
    if (machine_code) result.cubin = program.cubin();
    result.log = program.log();
    result.kernels = parse_resources(result.log);
    return result;
}

}  // namespace msda
