// Deterministic inputs for runs, verification and benchmarks: the same numbers on every platform, compiler and thread
// count, since each element is a hash of its place and no library function takes part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "msda/msda.hpp"

namespace msda {

// Host memory of one tensor, 256-byte aligned, zeroed; owns it.
class HostBuffer {
  public:
    HostBuffer() = default;
    explicit HostBuffer(std::size_t bytes);
    void* data() const noexcept { return data_.get(); }  // null when empty
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    struct Free {
        void operator()(void* memory) const noexcept;
    };
    std::unique_ptr<void, Free> data_;
    std::size_t bytes_ = 0;
};

// uniform: independent in [0, 1). model: what trained models sample.
//   Encoders (queries are the pixels of the levels): the query's own pixel centre, plus a ring of (p + 1) · 0.75 pixels
//   of the sampled level in the head's direction 2πm/M (Deformable DETR's initial pattern), plus Gaussian noise of 1.05
//   pixels. Other dense queries (4096 and more: injectors, bird's-eye views): the same around a raster of the unit
//   square. Decoders: a random box a query, offsets ((p + 1) · direction + noise of 0.5) / P · half the box.
enum class Locations : std::uint8_t { uniform, model };

// The tensors that a problem reads. Weights are positive and sum to 1 over ΣP (logits of spread 1 with a fused
// softmax); values and grad_output are standard normal. Elements of value between its strides hold NaN, since nothing
// may read them.
struct Inputs {
    HostBuffer value, locations, weights, references, scales, grad_output;

    // Addresses of the inputs; outputs stay null.
    Tensors tensors() const;
};
Inputs make_inputs(const Problem& problem, Locations kind, std::uint64_t seed = 1, int threads = 0);

// The tensors that a problem writes, filled with bytes 0xff (NaN in every type), so that what a kernel leaves unwritten
// fails verification.
struct Outputs {
    HostBuffer output, grad_value, grad_locations, grad_weights, grad_references;

    // `inputs` with the addresses of the outputs added.
    Tensors tensors(Tensors inputs) const;
};
Outputs make_outputs(const Problem& problem);

}  // namespace msda
