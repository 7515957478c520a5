// Which problems are alike enough to share a config, and how far apart their sizes are.
#pragma once

#include <string>

#include "msda/problem.hpp"

namespace msda {

// Everything about a problem but its sizes: pass, types, M, D, points of each level, sampling, fusion, accumulator,
// gradients, and whether queries are pixels (encoder) or not. Problems of one family share kernels' good shapes.
std::string family_of(const Problem& problem);

// Distance between two problems of one family: |Δ log2(B·Q)| + |Δ log2 S|, each log2 rounded to halves (buckets of a
// factor 1.41), so that the sizes that change from step to step in training fall on the same record; plus a quarter
// each where strides, alignment or specialisation differ. 0: the same bucket.
double distance(const Problem& a, const Problem& b);

}  // namespace msda
