// What is to be computed: one problem of multi-scale deformable attention (Zhu et al., "Deformable DETR", ICLR 2021,
// eq. 3). A Problem says everything that a kernel depends on and nothing about how it is computed (that is Config).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] msda {

// Output from inputs, or gradients.
enum class Pass : std::uint8_t { forward, backward };

// Element types; e4m3 is allowed for the value of a forward only.
enum class Type : std::uint8_t { f32, f16, bf16, f64, e4m3 };

// How grad_value is summed: in its own type, in f32 rounded once, bit-equal from run to run, or as exactly as f32 by
// whatever is fastest.
enum class Accumulate : std::uint8_t { automatic, native, f32, deterministic };

// Bilinear as grid_sample(align_corners=False, padding zeros); nearest: pixel (floor(x·W), floor(y·H)), 0 outside;
// rtdetrv2: pixel (trunc(x·W + 0.5), trunc(y·H + 0.5)) clamped per axis, rtdetrv2_square clamps both axes by H − 1 as
// that model does.
enum class Sampling : std::uint8_t { bilinear, nearest, rtdetrv2, rtdetrv2_square };

// Where sampling locations come from: given as they are, or computed from references and offsets inside the kernel.
// points: ref + off / (W, H); boxes: ref.xy + off / P_l · ref.wh · 0.5; pillars: point p uses reference p mod Z.
enum class Reference : std::uint8_t { none, points, boxes, pillars };

// exact: level sizes and query count are constants of the kernel; family: they are launch arguments.
enum class Specialise : std::uint8_t { exact, family };

// One level of the feature pyramid: pixels [start, start + height·width) of the S axis. A start of −1 means "after the
// level before".
struct Level {
    std::int64_t height = 0;  // H
    std::int64_t width = 0;   // W
    std::int64_t start = -1;  // first pixel
    bool operator==(const Level&) const = default;
};

// Which gradients a backward computes; what is false is neither computed nor written.
struct Gradients {
    bool value = true;     // grad_value
    bool location = true;  // grad_locations
    bool weight = true;    // grad_weights
    bool operator==(const Gradients&) const = default;
};

// A problem. Tensors are dense, innermost dimension last, except value, whose (B, S, M) strides are free:
//   value (B, S, M, D) · locations (B, Q, M, ΣP, 2) · weights (B, Q, M, ΣP) · output (B, Q, M, D)
struct Problem {
    Pass pass = Pass::forward;               // output from inputs, or gradients
    std::int64_t batch = 1;                  // B ≥ 0
    std::int64_t queries = 0;                // Q ≥ 0
    std::int64_t heads = 8;                  // M ≥ 1
    std::int64_t head_dim = 32;              // D ≥ 1
    std::int64_t pixels = 0;                 // S; 0: the end of the last level in memory
    std::vector<Level> levels;               // L ≥ 1, in memory order
    std::vector<std::int64_t> points = {4};  // P_l of each level, ≥ 1; one entry stands for all levels
    Type value = Type::f32;                  // also of both its gradients and, unless e4m3, of the output
    Type location = Type::f32;               // f32 or the value's type
    Type weight = Type::f32;                 // f32 or the value's type
    Type output = Type::f32;                 // f16 or bf16 when value is e4m3; else the value's type, or f32 for that
    Sampling sampling = Sampling::bilinear;  // what a location reads
    bool softmax = false;                    // weights are logits; softmax over ΣP inside the kernel
    Reference reference = Reference::none;   // where locations come from
    std::int64_t reference_levels = 0;                      // 1 or L, with a reference
    std::int64_t pillars = 0;                               // Z, with Reference::pillars
    Gradients gradients{};                                  // of a backward
    Accumulate accumulate = Accumulate::automatic;          // of a backward that computes grad_value
    std::array<std::int64_t, 3> value_strides = {0, 0, 0};  // elements between images, pixels, heads; all 0: dense
    std::int64_t alignment = 16;  // bytes: the lowest alignment of the tensors' addresses, a power of two ≤ 16
    Specialise specialise = Specialise::exact;  // what the kernel knows at compile time

    bool operator==(const Problem&) const = default;

    // ΣP over all levels. Call on a normalised problem.
    std::int64_t total_points() const;
    // Elements between images, pixels and heads of value, also where value_strides is all 0.
    std::array<std::int64_t, 3> strides() const;
    // True when value_strides is all 0.
    bool dense() const { return value_strides == std::array<std::int64_t, 3>{0, 0, 0}; }
    // True when queries are the pixels of the levels in memory order, as in an encoder: Q = ΣH·W and levels follow each
    // other from 0.
    bool encoder_like() const;
    // True when there is nothing to compute (B = 0 or Q = 0).
    bool empty() const { return batch == 0 || queries == 0; }
};

// Returns the problem with defaults filled in (level starts, one point count a level, S, the output's type) or throws
// Error(invalid_problem) naming what was expected and what came. O(L). Everything below takes a normalised problem.
Problem normalise(Problem problem);

// One line that names every field, the key of caches and databases; parse_problem reads it back. Locale free.
std::string canonical(const Problem& problem);
Problem parse_problem(std::string_view text);  // the inverse of canonical(); throws Error(invalid_problem) naming what is wrong

// Elements of each tensor, 0 for an empty problem. Throws Error(invalid_problem) where the count passes 2^62.
struct Sizes {
    std::int64_t value = 0;      // elements spanned from the first to the last, strides counted in
    std::int64_t locations = 0;  // also of offsets
    std::int64_t weights = 0;     // also of logits
    std::int64_t output = 0;      // also of grad_output
    std::int64_t references = 0;  // of all kinds of references
};
Sizes sizes(const Problem& problem);  // of a normalised problem

std::size_t bytes_of(Type type);    // of one element
std::string_view name(Pass);        // "forward"
std::string_view name(Type);        // "bf16"
std::string_view name(Accumulate);  // "automatic"
std::string_view name(Sampling);    // "bilinear"
std::string_view name(Reference);   // "points"
std::string_view name(Specialise);  // "family"

// Reads a name back; throws Error(invalid_problem) that lists the names there are. `T` is one of the enums above.
template <class T>
T parse_name(std::string_view text);

}  // namespace gnu::visibility("default")]]msda
