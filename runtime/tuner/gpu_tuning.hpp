// Tuning on a real GPU: the compiler of candidates, the labels of a record, and tuning inside an application on a miss.
#pragma once

#include <optional>

#include "runtime/tuner/tune.hpp"

namespace msda {

// Compiles candidates of a problem for a GPU with this process's NVRTC, past the disk cache: hundreds of losers would
// only crowd it. Safe to call from many threads. Throws Error(no_driver, no_compiler, unsupported); `runtime` must
// outlive it.
CompileCandidate gpu_compiler(Runtime& runtime, const Problem& problem, Device device);

// Fills in what a record says of its surroundings: GPU, driver, NVRTC, msda version, date (now, UTC). Empty names where
// there is no GPU.
void label(Record& record, Runtime& runtime, std::optional<Device> device);

// Tunes a problem here and now for a few seconds in this process and adds the record to the runtime's memory layer and,
// if that can be written, to the user's file. Nothing when it cannot be tuned; never throws. For
// Runtime::State::tune_on_miss.
std::optional<Config> tune_on_miss(Runtime& runtime, const Problem& problem, Device device);

}  // namespace msda
