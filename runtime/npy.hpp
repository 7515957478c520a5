// NumPy's .npy files, the format of `msda run --save` and `--load` (numpy.lib.format, versions 1 to 3, C order, little
// endian).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "msda/problem.hpp"
#include "runtime/inputs.hpp"

namespace msda {

// An array as a file holds it.
struct NpyArray {
    std::string descr;                // NumPy's type string: "<f4", "<f8", "<f2", "<i8", "<V2", ...
    std::vector<std::int64_t> shape;  // empty: a scalar, one element
    HostBuffer data;

    std::int64_t elements() const;
};

// Reads a whole file. Throws Error(io_failed) when it cannot be read, Error(bad_file) naming the path and the fault:
// magic, version, header, Fortran order, big endian, a shape whose bytes are not the file's.
NpyArray read_npy(const std::filesystem::path& path);

// Reads a tensor and checks its type and shape, naming expected and got. NumPy knows neither bf16 nor e4m3: they are
// stored as raw bytes ("<V2", "|V1"), and unsigned integers of the same size are read as well.
HostBuffer read_npy(const std::filesystem::path& path, Type type, std::span<const std::int64_t> shape);

// Writes an array of `type`, or of int64, replacing the file. Throws Error(io_failed); what was written is then
// removed.
void write_npy(const std::filesystem::path& path, Type type, std::span<const std::int64_t> shape, const void* data);
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, const std::int64_t* data);

}  // namespace msda
