// Problems prepared, verified and timed on one device: the work behind run and verify.
#pragma once

#include <optional>
#include <vector>

#include "runtime/verify/oracle.hpp"
#include "tools/cli/config_option.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/session.hpp"

namespace msda::cli {

// A problem whose kernels are compiled and loaded, or why they are not.
struct Prepared {
    std::optional<Operator> op;
    std::optional<Error> error;
};

// Options that run and verify share.
struct TrialOptions {
    std::string device = "auto";
    std::string locations = "model";
    std::int64_t seed = 1;
    void add(CLI::App& app);
};

// Prepares on several host threads at once, so that compiling a long list costs little device time. With `config` given
// its changes apply to each problem's default. What fails to prepare says so in its own entry.
std::vector<Prepared> prepare_all(Session& session, Device device, const std::vector<NamedProblem>& problems,
                                  const ConfigOptions& config);

// Throws Error(out_of_memory) with both figures when the tensors of a problem are more than this machine's memory, which
// Linux would hand out all the same, and kill the process later.
void check_memory(const Problem& problem);

class Trials {
  public:
    // `session` must outlive this object. Throws Error(no_driver) when the device is a GPU that is not there.
    Trials(Session& session, Device device);

    // Launches once and compares with the reference; `outputs`, when given, receives the results.
    Outcome verify(const NamedProblem& what, const Operator& op, Locations locations, const Inputs& inputs,
                   Outputs* outputs = nullptr);

    // Adds the median time of a launch: of graph replays with a cold L2 on a GPU, of several launches on the CPU, of
    // one launch under emulation.
    void time(Outcome& outcome, const Inputs& inputs);

  private:
    DevicePlace place_;
    std::string gpu_;
    DeviceTensors tensors_;
    Oracle oracle_;
};

}  // namespace msda::cli
