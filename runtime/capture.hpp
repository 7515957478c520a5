// Records which problems an application launches, and with which tensors, so that they can be tuned elsewhere as they
// are (MSDA_CAPTURE, MSDA_CAPTURE_DATA; docs/tuning.md). Each problem is a directory: problem.txt holds its canonical
// line, .npy files its inputs (runtime/tensor_files.hpp).
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device_context.hpp"
#include "runtime/operator_state.hpp"
#include "runtime/warnings.hpp"

namespace msda {

struct Inputs;

// Where captures go. Thread-safe; several processes may share a directory. Whatever goes wrong is one warning, never a
// failed launch.
class Capture {
  public:
    // `data`: the tensors too.
    Capture(std::filesystem::path directory, bool data, Warnings::Sink warn)
        : directory_(std::move(directory)), data_(data), warnings_(std::move(warn)) {}

    // By MSDA_CAPTURE and MSDA_CAPTURE_DATA; null where the first is not set. Throws Error(invalid_argument) where the
    // second is neither 0 nor 1.
    static std::shared_ptr<Capture> from_environment(Warnings::Sink warn);

    // Writes one problem, and its inputs where they are given, unless that was done before.
    void record(const Problem& problem, const Inputs* inputs) noexcept;
    void failed(const std::exception& error) noexcept;

    bool data() const { return data_; }

  private:
    const std::filesystem::path directory_;
    const bool data_;
    Warnings warnings_;
};

// An operator around `inner` that records its problem at the first launch. Where tensors are wanted, that launch waits
// for its stream and copies the inputs from `context`'s device (null: from the host), which no launch does otherwise;
// one inside a graph capture leaves the tensors to the next. Without `capture`: `inner` itself.
std::shared_ptr<const Operator::State> captured(std::shared_ptr<const Operator::State> inner,
                                                std::shared_ptr<DeviceContext> context,
                                                std::shared_ptr<Capture> capture);

// One captured problem.
struct Captured {
    std::filesystem::path directory;
    Problem problem;       // normalised
    bool tensors = false;  // its inputs lie beside it
};

// Every problem captured in a directory, or the one that `directory` itself is; those with tensors hide the same
// without. In the order of their names. What is no capture is named in `complaints`. Throws Error(io_failed) when the
// directory cannot be read.
std::vector<Captured> read_captures(const std::filesystem::path& directory, std::vector<std::string>& complaints);

}  // namespace msda
