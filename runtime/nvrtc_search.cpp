#include "runtime/nvrtc_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "msda/error.hpp"
#include "runtime/digest.hpp"

namespace msda {
namespace {

constexpr int oldest_nvrtc = 12000;

struct Found {
    std::string path;
    std::string origin;
    bool only_loaded = false;
};

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Collects candidates in search order.
class LibrarySearch {
  public:
    LibrarySearch(const LibraryLoader& loader, const FileSystem& files) : loader_(loader), files_(files) {}

    std::vector<Found> candidates() {
        loaded();
        toolkits();
        linker();
        pip();
        if (const auto conda = variable("CONDA_PREFIX"); !conda.empty()) libraries_below(conda, "CONDA_PREFIX");
        return std::move(found_);
    }

  private:
    std::string variable(const char* name) const { return loader_.environment(name); }

    std::vector<std::string> names_in(const std::string& directory) const {
        std::vector<std::string> names;
        files_.list(directory, names);  // a directory that is not there has no names
        return names;
    }

    void add(const std::string& path, const std::string& origin, bool only_loaded = false) {
        const auto same = [&](const Found& other) { return other.path == path && other.only_loaded == only_loaded; };
        if (std::none_of(found_.begin(), found_.end(), same)) found_.push_back({path, origin, only_loaded});
    }

    void loaded() {
        for (const std::string& file : loader_.mapped_files()) {
            const std::string name = file.substr(file.find_last_of('/') + 1);
            if (name.starts_with("libnvrtc") && !name.starts_with("libnvrtc-builtins"))
                add(file, "already loaded", true);
        }
        for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) add(name, "already loaded", true);
    }

    // libnvrtc.so.N of one directory, newest first; without any, plain libnvrtc.so.
    void libraries_in(const std::string& directory, const std::string& origin) {
        std::vector<std::string> names = names_in(directory);
        const bool unversioned = std::find(names.begin(), names.end(), "libnvrtc.so") != names.end();
        std::erase_if(names, [](const std::string& name) {
            return !name.starts_with("libnvrtc.so.") || name.find('.', 12) != std::string::npos;
        });
        std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
            return std::pair(a.size(), a) > std::pair(b.size(), b);
        });
        if (names.empty() && unversioned) names = {"libnvrtc.so"};
        for (const std::string& name : names) add(fmt::format("{}/{}", directory, name), origin);
    }

    void libraries_below(const std::string& root, const std::string& origin) {
        for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
            libraries_in(fmt::format("{}/{}", root, folder), origin);
    }

    void toolkits() {
        for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
            if (const auto root = variable(name); !root.empty()) libraries_below(root, name);
        libraries_below("/usr/local/cuda", "toolkit");
        std::vector<std::string> names = names_in("/usr/local");
        std::reverse(names.begin(), names.end());
        for (const std::string& name : names)
            if (name.starts_with("cuda-")) libraries_below("/usr/local/" + name, "toolkit");
        libraries_below("/opt/cuda", "toolkit");
    }

    void linker() {
        for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) add(name, "dynamic linker");
    }

    void site_packages(const std::string& directory, const std::string& origin) {
        for (const std::string& package : names_in(directory + "/nvidia"))
            libraries_in(fmt::format("{}/nvidia/{}/lib", directory, package), origin);
    }

    void pythons_below(const std::string& root, const std::string& origin) {
        for (const char* lib : {"lib", "lib64"})
            for (const std::string& python : names_in(fmt::format("{}/{}", root, lib)))
                if (python.starts_with("python"))
                    for (const char* packages : {"site-packages", "dist-packages"})
                        site_packages(fmt::format("{}/{}/{}/{}", root, lib, python, packages), origin);
    }

    // The folder of Python packages that holds a file of one of pip's nvidia packages, or of the package that this
    // library came in.
    void pip_of_process() {
        for (const std::string& file : loader_.mapped_files())
            if (const std::size_t at = file.find("/nvidia/"); at != std::string::npos && at > 0)
                site_packages(file.substr(0, at), "pip, loaded CUDA libraries");
        const std::string own = parent_of(parent_of(loader_.file_of(reinterpret_cast<const void*>(&why_not_usable))));
        if (!own.empty()) site_packages(own, "pip, beside msda");
    }

    void pip() {
        pip_of_process();
        if (const auto root = variable("VIRTUAL_ENV"); !root.empty()) pythons_below(root, "pip, VIRTUAL_ENV");
        std::istringstream paths(variable("PYTHONPATH"));
        for (std::string path; std::getline(paths, path, ':');)
            if (!path.empty()) site_packages(path, "pip, PYTHONPATH");
        if (const auto home = variable("HOME"); !home.empty()) pythons_below(home + "/.local", "pip, ~/.local");
        if (const auto root = variable("CONDA_PREFIX"); !root.empty()) pythons_below(root, "pip, CONDA_PREFIX");
        pythons_below("/usr/local", "pip, /usr/local");
        pythons_below("/usr", "pip, /usr");
    }

    const LibraryLoader& loader_;
    const FileSystem& files_;
    std::vector<Found> found_;
};

// Path, size and time of the file behind a path; empty when unknown.
std::string identity_of(const FileSystem& files, const std::string& path) {
    FileStatus status;
    if (!path.starts_with('/') || files.target_status(path, status)) return {};
    return Digest().add("nvrtc").add(path).add(status.bytes).add(status.modified).hex();
}

// The library when it will do, else null; `attempt` says why.
std::shared_ptr<const NvrtcLibrary> try_one(const Found& candidate, int driver_version, const LibraryLoader& loader,
                                            const FileSystem& files, const NvrtcMemory& memory, Attempt& attempt) {
    NvrtcInfo info;
    std::shared_ptr<const Nvrtc> nvrtc;
    const std::string identity = candidate.only_loaded || !memory.recall ? "" : identity_of(files, candidate.path);
    const auto known = identity.empty() ? std::nullopt : memory.recall(identity);
    if (known) {
        info = *known;
    } else {
        nvrtc = open_nvrtc(loader, candidate.path, candidate.only_loaded, info, attempt.outcome);
        if (nvrtc == nullptr) return nullptr;
        if (!identity.empty() && memory.remember) memory.remember(identity, info);
    }
    attempt.outcome = why_not_usable(info, driver_version);
    if (!attempt.outcome.empty()) return nullptr;
    const std::string file = nvrtc ? loader.file_of(reinterpret_cast<const void*>(nvrtc->version)) : candidate.path;
    attempt.outcome = fmt::format("taken, CUDA {}", version_text(info.version));
    return std::make_shared<NvrtcLibrary>(loader, file.empty() ? candidate.path : file, std::move(info),
                                          std::move(nvrtc));
}

}  // namespace

std::string why_not_usable(const NvrtcInfo& info, int driver_version) {
    if (info.version < oldest_nvrtc)
        return fmt::format("CUDA {} is too old, 12.0 or newer is needed", version_text(info.version));
    if (driver_version != 0 && info.version / 1000 > driver_version / 1000)
        return fmt::format("CUDA {} is newer than the driver understands ({})", version_text(info.version),
                           version_text(driver_version));
    return {};
}

NvrtcLibrary::NvrtcLibrary(LibraryLoader loader, std::string path, NvrtcInfo info, std::shared_ptr<const Nvrtc> nvrtc)
    : loader_(std::move(loader)), path_(std::move(path)), info_(std::move(info)), nvrtc_(std::move(nvrtc)) {}

const Nvrtc& NvrtcLibrary::functions() const {
    const std::lock_guard lock(mutex_);
    if (nvrtc_ == nullptr) {
        NvrtcInfo info;
        std::string error;
        auto nvrtc = open_nvrtc(loader_, path_, false, info, error);
        if (nvrtc == nullptr) throw Error(Code::no_compiler, fmt::format("cannot open {}: {}", path_, error));
        if (!(info == info_))
            throw Error(Code::no_compiler, fmt::format("{} was replaced while in use: CUDA {} became {}", path_,
                                                       version_text(info_.version), version_text(info.version)));
        nvrtc_ = std::move(nvrtc);
    }
    return *nvrtc_;
}

std::shared_ptr<const NvrtcLibrary> find_nvrtc(const NvrtcRequest& request, const LibraryLoader& loader,
                                               const FileSystem& files, const NvrtcMemory& memory, Attempts& attempts) {
    std::vector<Found> candidates = {{request.path, "MSDA_NVRTC"}};
    if (request.path.empty()) candidates = LibrarySearch(loader, files).candidates();
    std::shared_ptr<const NvrtcLibrary> chosen;
    for (const Found& candidate : candidates) {
        Attempt& attempt =
            attempts.emplace_back(Attempt{candidate.path, candidate.origin, "not tried, an earlier one was taken"});
        if (chosen == nullptr) chosen = try_one(candidate, request.driver_version, loader, files, memory, attempt);
    }
    if (chosen == nullptr)
        throw Error(
            Code::no_compiler,
            fmt::format(
                "no usable NVRTC (libnvrtc.so.12 or .13){}; install a CUDA toolkit or `pip install "
                "nvidia-cuda-nvrtc`, or name one with MSDA_NVRTC",
                request.driver_version == 0 ? "" : fmt::format(" of CUDA 12.0 to {}.x", request.driver_version / 1000)),
            describe(attempts));
    return chosen;
}

}  // namespace msda
