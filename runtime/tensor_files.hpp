// Tensors as .npy files in a directory: what `msda run --save` and captures write, and --load and the tuner read.
#pragma once

#include <filesystem>

#include "runtime/inputs.hpp"

namespace msda {

// Reads value.npy, locations.npy, weights.npy and, as the problem needs them, references.npy, scales.npy and
// grad_output.npy. Shapes are operator.md's: locations (B, Q, M, L, P, 2), or (B, Q, M, ΣP, 2) with uneven points;
// a strided value is one dimension as it lies in memory. Throws Error(io_failed, bad_file) naming the file, expected
// and got.
Inputs load_inputs(const std::filesystem::path& directory, const Problem& problem);

// Writes the inputs by the same names into an existing directory. Throws Error(io_failed).
void save_inputs(const std::filesystem::path& directory, const Problem& problem, const Inputs& inputs);

// Writes inputs and outputs: also output.npy, grad_value.npy, grad_locations.npy, grad_weights.npy,
// grad_references.npy as the problem has them; makes the directory. Throws Error(io_failed).
void save_arrays(const std::filesystem::path& directory, const Problem& problem, const Inputs& inputs,
                 const Outputs& outputs);

}  // namespace msda
