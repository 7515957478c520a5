#include "runtime/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuning_db/file_system.hpp"

namespace msda {
namespace {

// The first function that the library lacks, or null.
const char* fill(Nvrtc& nvrtc, const LibraryLoader& loader) {
    const char* missing = nullptr;
    const auto take = [&](auto& function, const char* symbol) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(loader.symbol(nvrtc.library.get(), symbol));
        if (function == nullptr && missing == nullptr) missing = symbol;
    };
#define MSDA_NVRTC_TAKE(member, symbol) take(nvrtc.member, #symbol);
    MSDA_NVRTC_FUNCTIONS(MSDA_NVRTC_TAKE)
#undef MSDA_NVRTC_TAKE
    return missing;
}

bool ask(const Nvrtc& nvrtc, NvrtcInfo& info) {
    int major = 0;
    int minor = 0;
    int count = 0;
    if (nvrtc.version(&major, &minor) != NVRTC_SUCCESS) return false;
    if (nvrtc.get_num_supported_archs(&count) != NVRTC_SUCCESS) return false;
    info.version = 1000 * major + 10 * minor;
    info.architectures.resize(static_cast<std::size_t>(std::max(count, 0)));
    if (count > 0 && nvrtc.get_supported_archs(info.architectures.data()) != NVRTC_SUCCESS) return false;
    std::sort(info.architectures.begin(), info.architectures.end());
    return count > 0;
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::shared_ptr<const Nvrtc> open_nvrtc(const LibraryLoader& loader, const std::string& path, bool only_loaded,
                                        NvrtcInfo& info, std::string& error) {
    auto nvrtc = std::make_shared<Nvrtc>();
    nvrtc->library = loader.open(path, only_loaded, error);
    if (nvrtc->library == nullptr) return nullptr;
    if (const char* missing = fill(*nvrtc, loader)) {
        error = fmt::format("not NVRTC, it has no {}", missing);
        return nullptr;
    }
    if (!ask(*nvrtc, info)) {
        error = "it does not tell its version and architectures";
        return nullptr;
    }
    const std::string file = loader.file_of(reinterpret_cast<const void*>(nvrtc->version));
    std::string ignored;
    nvrtc->builtins = loader.open(
        fmt::format("{}/libnvrtc-builtins.so.{}", directory_of(file.empty() ? path : file), version_text(info.version)),
        false, ignored);
    return nvrtc;
}

}  // namespace msda
