// What a Runtime owns. Everything is made at its first use: a Runtime that is never asked touches neither driver,
// compiler nor disk.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "runtime/binaries.hpp"
#include "runtime/capture.hpp"
#include "runtime/device_context.hpp"
#include "runtime/driver.hpp"
#include "runtime/emulation/emulator.hpp"
#include "runtime/once_map.hpp"
#include "runtime/operator_state.hpp"
#include "runtime/pack/packs.hpp"
#include "runtime/tier/tiers.hpp"
#include "tuning_db/layers.hpp"

namespace msda {

// What an operator was prepared for; equal keys share one operator.
struct OperatorKey {
    Problem problem;               // normalised
    std::optional<Config> config;  // as given by the caller
    Device device;
    const DeviceContext* context = nullptr;  // of a GPU
    bool operator==(const OperatorKey&) const = default;
};

struct OperatorKeyHash {
    std::size_t operator()(const OperatorKey& key) const noexcept;
};

// Finds a config for a problem that no database knows, by tuning it here and now; nothing when it cannot. Must be quick
// to give up inside a stream capture.
using TuneOnMiss = std::function<std::optional<Config>(Runtime&, const Problem&, Device)>;

struct Runtime::State {
    explicit State(Options given);

    // Prepared operators kept for callers that prepare the same again; the least recently prepared goes first.
    static constexpr std::size_t operator_capacity = 256;

    const Options options;
    Warnings warnings;
    LibraryLoader loader = LibraryLoader::real();  // replaced by tests before first use, as `files`
    FileSystem files;
    DiskCache cache;
    Packs packs;
    Layers layers;
    Binaries binaries;
    std::shared_ptr<Capture> capture;  // null: off
    TuneOnMiss tune_on_miss;           // set by whoever can tune; used only where Options::tune_on_miss says so

    // The driver, opened and started at the first call; tests put their own in. Throws Error(no_driver).
    std::shared_ptr<const Driver> driver();
    void use_driver(std::shared_ptr<const Driver> driver);

    // The compiler, searched at the first call; the driver's version limits the choice where there is a driver. Throws
    // Error(no_compiler).
    std::shared_ptr<const NvrtcLibrary> nvrtc(int driver_version);
    void use_nvrtc(std::shared_ptr<const NvrtcLibrary> nvrtc);

    // CUDA's number of a GPU; of Device::current() that of the calling thread's context. Throws Error(invalid_argument)
    // where there is none.
    int ordinal_of(Device gpu);

    // The context to prepare in: the caller's current one if it belongs to the device, else the device's primary one.
    std::shared_ptr<DeviceContext> context_for(int ordinal);

    // Runtime::prepare; `stream` is where the operator will be launched, if that is known.
    std::shared_ptr<const Operator::State> prepare(Runtime& runtime, const Problem& problem,
                                                   const std::optional<Config>& config, Device device,
                                                   const Stream* stream);

    // Runtime::settle.
    void settle() noexcept { tiers_.settle(); }

    // Drops the operators kept for callers that prepare the same again; whoever holds one keeps it.
    void forget_operators() {
        operators_.erase_if([](const OperatorKey&) { return true; });
    }

    // What each search tried so far.
    Attempts driver_attempts();
    Attempts nvrtc_attempts();

  private:
    Identity identify(Runtime& runtime, const OperatorKey& key, const Silicon& silicon);
    std::shared_ptr<const Operator::State> make(Runtime& runtime, const OperatorKey& key,
                                                const std::shared_ptr<DeviceContext>& context);
    std::shared_ptr<const Operator::State> make_on_gpu(Identity identity,
                                                       const std::shared_ptr<DeviceContext>& context);
    std::shared_ptr<const Operator::State> make_emulated(Identity identity);
    std::shared_ptr<DeviceContext> known_context(CUcontext handle);
    std::shared_ptr<DeviceContext> known_primary(int ordinal);
    NvrtcMemory nvrtc_memory();

    std::mutex mutex_;  // of driver, contexts and emulator
    std::shared_ptr<const Driver> driver_;
    Attempts driver_attempts_;
    std::vector<std::shared_ptr<DeviceContext>> contexts_;
    std::shared_ptr<Emulator> emulator_;
    unsigned generation_ = fork_generation();

    std::mutex nvrtc_mutex_;  // a search opens libraries of 100 MB; who needs only the driver does not wait for it
    std::shared_ptr<const NvrtcLibrary> nvrtc_;
    Attempts nvrtc_attempts_;

    OnceMap<OperatorKey, const Operator::State, OperatorKeyHash> operators_{operator_capacity};
    Tiers tiers_;  // last: its thread uses what stands above
};

// The compile request of a problem's kernels for a GPU: emitted source, template texts, options. Its source digest is
// the operator's.
CompileRequest compile_request(const Problem& problem, const Config& config, int capability);

}  // namespace msda
