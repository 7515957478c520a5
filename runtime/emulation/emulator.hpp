// Runs emitted CUDA source without a GPU: the source, unchanged, is built by the host compiler and executed thread by
// thread, with CUDA's barriers, warp collectives and atomics. For tests, for learning, and for `--device emulate`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan.hpp"
#include "msda/msda.hpp"
#include "runtime/emulation/host_compiler.hpp"
#include "runtime/emulation/multiprocessor.hpp"

namespace msda {

// Emitted source, built and loaded. Unloaded, and its files removed, when the last owner goes. Immutable.
class EmulatedModule {
  public:
    // Builds and loads. Throws Error as Emulator::compile.
    EmulatedModule(const std::string& compiler, std::string_view source, const std::vector<std::string>& flags);
    ~EmulatedModule();
    EmulatedModule(const EmulatedModule&) = delete;
    EmulatedModule& operator=(const EmulatedModule&) = delete;

    // A kernel by its entry name. Throws Error(invalid_argument) when the source has none of that name.
    emulation::Grid::Entry kernel(const std::string& name) const;

  private:
    emulation::PrivateDirectory directory_;
    void* library_ = nullptr;
};

// How to run a plan under emulation.
struct EmulationSettings {
    int workers = 0;  // host threads; 0: as many as the machine has (at least 3 under ThreadSanitizer)
    std::uint32_t poison = 0xffffffffu;  // what shared memory holds when a block begins
    emulation::Order order = emulation::Order::ascending;
    bool count = false;  // collect emulation::Counts (not under ThreadSanitizer)
};

// Compiles and runs; keeps the modules and the host threads' stacks of one process. Thread-safe.
class Emulator {
  public:
    // `compiler`: a program's path or name; empty: MSDA_HOST_CXX, else the first C++ compiler on PATH.
    explicit Emulator(std::string compiler = {});
    ~Emulator();
    Emulator(const Emulator&) = delete;
    Emulator& operator=(const Emulator&) = delete;

    // Builds and loads a source, or returns the module that the same source and flags gave before; threads that ask for
    // the same wait for one build. Throws Error: unsupported (no compiler), compile_failed (with log), io_failed.
    std::shared_ptr<const EmulatedModule> compile(const std::string& source,
                                                  const std::vector<std::string>& flags = {});

    // Executes the plan's steps on host memory, checking each global access against `extents` unless that is empty.
    // Returns the counts asked for. Throws Error(driver_failed) when a kernel breaks a rule, Error(invalid_argument) on
    // a null pointer that a step zero-fills.
    emulation::Counts run(const Plan& plan, const EmulatedModule& module, const Tensors& tensors,
                          const std::vector<emulation::Extent>& extents, const EmulationSettings& settings = {});

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The tensors of a normalised problem as the memory that its kernels may touch: inputs read-only, each exactly as long
// as Sizes says.
std::vector<emulation::Extent> emulation_extents(const Problem& problem, const Plan& plan, const Tensors& tensors);

}  // namespace msda
