// The public C++ interface of msda-jit: prepare a problem once, launch it as often as you like.
// No CUDA header stands behind this one: a stream is an opaque pointer, device memory a void*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "msda/config.hpp"
#include "msda/error.hpp"
#include "msda/problem.hpp"
#include "msda/workspace.hpp"

namespace [[gnu::visibility("default")]] msda {

// A CUstream or cudaStream_t; nullptr is the legacy default stream.
using Stream = void*;

// Where an operator runs. cpu: threaded host code on host pointers. emulated: the GPU's own kernels, compiled by the host compiler and
// run thread by thread on host pointers (slow, for tests and learning).
struct Device {
    // The three kinds.
    enum class Kind : std::uint8_t { gpu, cpu, emulated };
    Kind kind = Kind::gpu;                                               // which one
    int ordinal = 0;                                                     // of a gpu: CUDA's device number, or −1: see current()
    static Device gpu(int ordinal = 0) { return {Kind::gpu, ordinal}; }  // by CUDA's device number
    static Device current() { return {Kind::gpu, -1}; }                  // the GPU whose context is current on the preparing thread
    static Device cpu() { return {Kind::cpu, 0}; }                       // threaded host code
    static Device emulated() { return {Kind::emulated, 0}; }             // the GPU's kernels on the host
    bool operator==(const Device&) const = default;
};

// The addresses of one call, device or host memory as the operator's device asks; all owned by the caller. What the problem does not
// use may stay null; what it uses must not, unless the tensor is empty. Shapes are Problem's.
struct Tensors {
    const void* value = nullptr;        // (B, S, M, D)
    const void* locations = nullptr;    // (B, Q, M, ΣP, 2); offsets when the problem has references
    const void* weights = nullptr;      // (B, Q, M, ΣP); logits when the problem fuses the softmax
    const void* references = nullptr;   // (B, Q, L or 1 (or Z), 2 or 4), f32 or the location's type
    const void* scales = nullptr;       // (M) f32, with e4m3 values
    void* output = nullptr;             // (B, Q, M, D), forward
    const void* grad_output = nullptr;  // (B, Q, M, D), backward
    void* grad_value = nullptr;         // dense (B, S, M, D); every element is written
    void* grad_locations = nullptr;     // as locations
    void* grad_weights = nullptr;       // as weights
    void* grad_references = nullptr;    // as references
    void* workspace = nullptr;          // Operator::workspace_bytes() bytes, 256-byte aligned, any content
};

// Settings of a Runtime; the defaults come from the environment (docs/environment.md).
struct Options {
    std::string cache_directory;             // MSDA_CACHE_DIR; empty: the user's cache directory
    bool disk_cache = true;                  // MSDA_CACHE=0 turns it off
    std::string nvrtc_library;               // MSDA_NVRTC; empty: search
    std::string driver_library;              // MSDA_DRIVER; empty: search
    std::string database;                    // MSDA_DB: freezes all database layers to this one file
    std::string site_databases;              // MSDA_DB_SITE: directories separated by ':', the first wins
    std::string packs;                       // MSDA_PACK: files of `msda pack` separated by ':', the first wins
    bool deterministic = false;              // MSDA_DETERMINISTIC=1: configs from the heuristic alone, no tier-up
    bool tune_on_miss = false;               // MSDA_TUNE=on_miss
    bool tier_up = false;                    // MSDA_TIER_UP=1: see Runtime::prepare; no effect in deterministic mode
    int cpu_threads = 0;                     // MSDA_CPU_THREADS; 0: all hardware threads
    std::function<void(const std::string&)> warn;  // receives each warning once; unset: one line on stderr

    // What the environment says. Throws Error(invalid_argument) naming a variable whose value does not fit.
    static Options from_environment();
};

// A prepared problem: its kernels are compiled and loaded. Cheap to copy; safe to launch from many threads at once.
class Operator {
  public:
    struct State;
    explicit Operator(std::shared_ptr<const State> state);  // made by Runtime::prepare

    const Problem& problem() const noexcept;  // as normalise() gives it
    const Config& config() const noexcept;    // how it is computed
    // Where the config came from: "given", "exact", "nearest", "family" (database) or "heuristic".
    const std::string& config_origin() const noexcept;
    // A digest of the emitted source, stable across machines.
    const std::string& source_digest() const noexcept;
    // What a launch would run now: a kernel of this very shape, or one that serves all shapes of its family. Differs from the problem's
    // own `specialise` only under Options::tier_up, while the exact kernel (whose config and digest are told above) is not loaded.
    Specialise tier() const noexcept;
    // Bytes of scratch that launch() needs in Tensors::workspace; fixed for the life of the operator.
    std::size_t workspace_bytes() const noexcept;

    // Enqueues the operator on `stream` and returns. Allocates nothing, synchronises nothing, leaves the current context as it was and is
    // legal during stream capture. On cpu and emulated devices it runs before it returns and `stream` is ignored.
    // Throws Error(invalid_argument) naming a null, misaligned or missing pointer, Error(driver_failed) with the driver's name of the error.
    void launch(const Tensors& tensors, Stream stream = nullptr) const;

  private:
    std::shared_ptr<const State> state_;
};

// Owns the compiler, the caches and the loaded modules of one process; several may live side by side. Thread-safe.
class Runtime {
  public:
    explicit Runtime(Options options = Options::from_environment());  // touches neither driver, compiler nor disk
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // The process's own runtime, made at the first call, never destroyed before the process ends.
    static Runtime& shared();

    // Compiles and loads the kernels of a problem (or finds them in a cache) with the best config known for the device; the second form
    // takes the config given. On a GPU it uses the caller's current context if that belongs to the device, else the device's primary context.
    // Throws Error: invalid_problem, unsupported, no_driver, no_compiler, compile_failed, driver_failed, not_prepared (a miss while the
    // calling thread's stream is being captured).
    // Under Options::tier_up the first form serves a new shape on a GPU at once with a `family` kernel, which only the first shape of a
    // family has to compile; the `exact` kernel is compiled in the background and runs from the next launch on. Exact kernels that have not
    // run for long make room for others.
    Operator prepare(const Problem& problem, Device device = Device::gpu());
    Operator prepare(const Problem& problem, const Config& config, Device device = Device::gpu());  // as above, with a config that is given

    // The first form for a caller that prepares on demand and knows the stream of the launch to come: a miss while that stream is captured
    // is refused with not_prepared and leaves the capture valid, a hit is served.
    Operator prepare(const Problem& problem, Device device, Stream stream);

    // Waits until the background has nothing left to compile, or returns at once where nothing tiers up. Before a graph is captured, say: a
    // graph keeps the kernels that were current when it was captured.
    void settle() noexcept;

    // The device's silicon; of cpu and emulated devices the default Silicon.
    Silicon silicon(Device device);

    // True when a CUDA driver with at least one device is there. Never throws.
    bool has_gpu() noexcept;

    // Plain text: each library path tried and what came of it, driver and NVRTC versions, devices, cache directory.
    std::string doctor();

    struct State;
    State& state() noexcept { return *state_; }  // for the other parts of this library

  private:
    std::unique_ptr<State> state_;
};

// The library's version, "major.minor.patch".
const char* version() noexcept;

}  // namespace msda
