// What holds for the operator whatever computes it: linear in value, weights and grad_output; the order of queries and
// of heads is a mere relabelling.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/inputs.hpp"

namespace msda::test {

// Computes a problem from host tensors into host tensors.
using Compute = std::function<void(const Tensors&)>;

// Runs the problem on its inputs of that seed and on changed ones: value (of a backward: grad_output) and weights split
// in two parts whose results must add up, and doubled; queries and heads in reverse. Empty when all results agree, of a
// forward's relabellings to the bit, of the others within three times the operator's tolerance; else one sentence. For
// problems with locations and weights of their own, and with dense values.
std::string broken_property(const Problem& problem, Locations kind, std::uint64_t seed, const Compute& compute);

}  // namespace msda::test
