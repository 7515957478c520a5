#include "tests/fakes/fake_nvrtc.hpp"

#include <cstring>
#include <utility>

#define MSDA_FAKE_NVRTC(name)                    \
    FakeNvrtc::State& s = active_nvrtc->state(); \
    const std::lock_guard lock(s.mutex);         \
    if (const nvrtcResult armed = s.enter(name); armed != NVRTC_SUCCESS) return armed

namespace msda::fakes {

struct FakeNvrtc::State {
    struct Program {
        std::string source;
        std::string image;
        std::string log;
    };
    mutable std::mutex mutex;
    NvrtcInfo info;
    std::map<std::string, int> calls;
    std::map<std::string, std::pair<int, nvrtcResult>> armed;
    std::string next_log = "msda.cu(1): error: told to fail\n";
    std::map<nvrtcProgram, Program> programs;
    std::uint64_t next = 0x100;
    std::vector<std::string> options;

    nvrtcResult enter(const char* function) {
        ++calls[function];
        const auto found = armed.find(function);
        if (found == armed.end() || --found->second.first != 0) return NVRTC_SUCCESS;
        const nvrtcResult result = found->second.second;
        armed.erase(found);
        return result;
    }
};

namespace {

FakeNvrtc* active_nvrtc = nullptr;

void fill_questions(Nvrtc& n) {
    n.version = [](int* major, int* minor) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcVersion");
        *major = s.info.version / 1000;
        *minor = s.info.version % 1000 / 10;
        return NVRTC_SUCCESS;
    };
    n.get_error_string = [](nvrtcResult) { return "NVRTC_ERROR_FAKE"; };
    n.get_num_supported_archs = [](int* count) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetNumSupportedArchs");
        *count = static_cast<int>(s.info.architectures.size());
        return NVRTC_SUCCESS;
    };
    n.get_supported_archs = [](int* architectures) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetSupportedArchs");
        std::copy(s.info.architectures.begin(), s.info.architectures.end(), architectures);
        return NVRTC_SUCCESS;
    };
}

nvrtcResult compile(nvrtcProgram program, int count, const char* const* options) {
    if (active_nvrtc->on_compile) active_nvrtc->on_compile();
    FakeNvrtc::State& s = active_nvrtc->state();
    const std::lock_guard lock(s.mutex);
    s.options.assign(options, options + count);
    FakeNvrtc::State::Program& compiled = s.programs.at(program);
    if (const nvrtcResult armed = s.enter("nvrtcCompileProgram"); armed != NVRTC_SUCCESS) {
        compiled.log = s.next_log;
        return armed;
    }
    compiled.image = "FAKE " + s.options.at(1) + "\n" + compiled.source;
    return NVRTC_SUCCESS;
}

void fill_programs(Nvrtc& n) {
    n.create_program = [](nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                          const char* const*) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcCreateProgram");
        *program = reinterpret_cast<nvrtcProgram>(s.next += 0x10);
        s.programs[*program].source = source;
        return NVRTC_SUCCESS;
    };
    n.destroy_program = [](nvrtcProgram* program) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcDestroyProgram");
        s.programs.erase(*program);
        *program = nullptr;
        return NVRTC_SUCCESS;
    };
    n.compile_program = compile;
    n.get_ptx_size = [](nvrtcProgram program, std::size_t* size) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetPTXSize");
        *size = s.programs.at(program).image.size() + 1;
        return NVRTC_SUCCESS;
    };
    n.get_ptx = [](nvrtcProgram program, char* text) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetPTX");
        std::strcpy(text, s.programs.at(program).image.c_str());
        return NVRTC_SUCCESS;
    };
    n.get_cubin_size = [](nvrtcProgram program, std::size_t* size) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetCUBINSize");
        *size = s.programs.at(program).image.size();
        return NVRTC_SUCCESS;
    };
    n.get_cubin = [](nvrtcProgram program, char* bytes) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetCUBIN");
        const std::string& image = s.programs.at(program).image;
        std::memcpy(bytes, image.data(), image.size());
        return NVRTC_SUCCESS;
    };
    n.get_program_log_size = [](nvrtcProgram program, std::size_t* size) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetProgramLogSize");
        *size = s.programs.at(program).log.size() + 1;
        return NVRTC_SUCCESS;
    };
    n.get_program_log = [](nvrtcProgram program, char* text) -> nvrtcResult {
        MSDA_FAKE_NVRTC("nvrtcGetProgramLog");
        std::strcpy(text, s.programs.at(program).log.c_str());
        return NVRTC_SUCCESS;
    };
}

}  // namespace

FakeNvrtc::FakeNvrtc(NvrtcInfo info) : state_(std::make_unique<State>()) {
    state_->info = std::move(info);
    active_nvrtc = this;
}

FakeNvrtc::~FakeNvrtc() {
    if (active_nvrtc == this) active_nvrtc = nullptr;
}

std::shared_ptr<const Nvrtc> FakeNvrtc::table() const {
    auto nvrtc = std::make_shared<Nvrtc>();
    fill_questions(*nvrtc);
    fill_programs(*nvrtc);
    return nvrtc;
}

std::shared_ptr<const NvrtcLibrary> FakeNvrtc::library() const {
    return std::make_shared<NvrtcLibrary>(LibraryLoader::real(), "/fake/libnvrtc.so", state_->info, table());
}

void FakeNvrtc::fail(const std::string& function, int nth, nvrtcResult result) {
    const std::lock_guard lock(state_->mutex);
    state_->armed[function] = {nth, result};
}

void FakeNvrtc::set_log(std::string log) {
    const std::lock_guard lock(state_->mutex);
    state_->next_log = std::move(log);
}

int FakeNvrtc::calls(const std::string& function) const {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->calls.find(function);
    return found == state_->calls.end() ? 0 : found->second;
}

int FakeNvrtc::live_programs() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<int>(state_->programs.size());
}

std::vector<std::string> FakeNvrtc::last_options() const {
    const std::lock_guard lock(state_->mutex);
    return state_->options;
}

}  // namespace msda::fakes
