// Family kernels that are loaded, and which of them serves a new shape as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/binaries.hpp"
#include "runtime/gpu_operator.hpp"

namespace msda {

// A config whose family kernel does not depend on sizes: the owned scatter form, whose kernel is made for a range of Q
// and S, gives way to the direct one where the problem allows that.
Config portable(const Problem& problem, const Config& config, const Silicon& silicon);

// Thread-safe. No lock is held while compiling or loading.
class Families {
  public:
    // The config of a family problem that no loaded kernel serves.
    using ChooseConfig = std::function<Config(const Problem&, const Silicon&)>;
    // More kernels than an application has families; the one that served longest ago is dropped.
    static constexpr std::size_t capacity = 64;

    Families(Binaries& binaries, ChooseConfig choose) : binaries_(binaries), choose_(std::move(choose)) {}

    // The problem (specialise = family) on a loaded kernel, which is shared by all that it serves; compiles one when
    // none does, as for the first shape of a family. Throws as Runtime::prepare.
    std::shared_ptr<const GpuOperator> serve(const Problem& problem, const std::shared_ptr<DeviceContext>& context);

    // Drops the kernels of a context.
    void forget(const DeviceContext& context) noexcept;

  private:
    struct Kernel {
        std::shared_ptr<DeviceContext> context;
        std::string family;
        Config config;
        std::string source, digest;
        std::vector<Step> steps;
        std::shared_ptr<const Module> module;
        std::uint64_t used = 0;
    };
    std::vector<Kernel> kernels_of(const DeviceContext& context, const std::string& family);
    void keep(Kernel kernel);
    Kernel compile(const Problem& problem, const std::string& family, const std::shared_ptr<DeviceContext>& context);

    Binaries& binaries_;
    const ChooseConfig choose_;
    std::mutex mutex_;
    std::vector<Kernel> kernels_;
    std::uint64_t clock_ = 0;
};

}  // namespace msda
