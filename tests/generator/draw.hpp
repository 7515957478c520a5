// Random problems and GPUs for the generator's property tests: the same on every machine and for every standard
// library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>

#include "msda/config.hpp"
#include "msda/error.hpp"
#include "msda/problem.hpp"

namespace msda::draw {

// Draws choices one after the other.
class Urn {
  public:
    explicit Urn(std::uint32_t seed) : engine_(seed) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool coin() { return engine_() % 2 != 0; }
    template <class T>
    T pick(std::initializer_list<T> list) {
        return *(list.begin() + engine_() % list.size());
    }

  private:
    std::mt19937 engine_;
};

// A problem with the usual tensors: every pass, type, accumulator, sampling and gradient mask, one in three with fused
// softmax or references; encoders and decoders, from one query to thousands.
Problem emitted_problem(Urn& urn);

// Any problem that normalise() accepts: also fused front ends, strides, e4m3, ragged points, levels with gaps and in
// any order, B = 0 and Q = 0.
Problem any_problem(Urn& urn);

// The GPU generations from sm_50 to sm_120 with their shared memory and threads an SM.
std::initializer_list<int> capabilities();
Silicon silicon_of(int capability);

// Code and sentence of the Error that a call throws; Code{} when it throws none.
template <class Call>
std::pair<Code, std::string> error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
    return {Code{}, ""};
}

// Deformable DETR's encoder (Q = ΣH·W) and decoder at 800×1333: batch, query count (0: the encoder's), type.
Problem detr(Pass pass, std::int64_t batch, std::int64_t queries, Type value,
             Accumulate accumulate = Accumulate::automatic, Specialise specialise = Specialise::exact);

}  // namespace msda::draw
