#include "runtime/binaries.hpp"

#include <fmt/format.h>

#include <utility>

namespace msda {

Binaries::Binaries(DiskCache& cache, Warnings& warnings, FindNvrtc find_nvrtc)
    : cache_(cache), warnings_(warnings), find_nvrtc_(std::move(find_nvrtc)) {}

void Binaries::add_source(Source source) {
    const std::lock_guard lock(mutex_);
    sources_.insert(sources_.begin(), std::move(source));
}

std::optional<Binary> Binaries::from_sources(const CompileRequest& request) {
    std::vector<Source> sources;
    {
        const std::lock_guard lock(mutex_);
        sources = sources_;
    }
    if (sources.empty()) return std::nullopt;
    const std::string digest = source_digest(request);
    for (const Source& source : sources)
        if (auto binary = source(digest, request.capability)) return binary;
    return std::nullopt;
}

std::shared_ptr<const Binary> Binaries::get(const CompileRequest& request, int driver_version) {
    if (auto binary = from_sources(request)) return std::make_shared<const Binary>(std::move(*binary));
    const auto nvrtc = find_nvrtc_(driver_version);
    const Target target = choose_target(*nvrtc, request.capability, request.suffix, driver_version);
    if (target.format == Target::Format::ptx)
        warnings_.once(
            "ptx",
            fmt::format("NVRTC {} ({}) does not know sm_{}: kernels are compiled to PTX of {} and "
                        "translated by the driver; a newer NVRTC makes them start sooner and may make them faster",
                        version_text(nvrtc->info().version), nvrtc->path(), request.capability, target.architecture()));
    const std::string key = key_of(request, target, *nvrtc);
    return recent_.get(
        key, [&] { return std::make_shared<const Binary>(from_disk_or_compiler(key, request, target, *nvrtc)); });
}

Binary Binaries::from_disk_or_compiler(const std::string& key, const CompileRequest& request, const Target& target,
                                       const NvrtcLibrary& nvrtc) {
    if (auto bytes = cache_.load(key)) return {target, std::move(*bytes), ""};
    // What this process compiled is what it uses, whoever else publishes the same entry meanwhile.
    Binary binary = compile(request, target, nvrtc);
    cache_.store(key, binary.bytes);
    return binary;
}

}  // namespace msda
