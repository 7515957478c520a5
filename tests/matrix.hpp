// Tests over a matrix, such as every form on every architecture or every call failing in turn, run all of it where
// MSDA_TEST_WHOLE is set (`tools/test --whole`, `.ci/run`), and else a slice that shows a break of each kind within the
// five minutes of `tools/test`.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace msda::test {

inline bool whole_matrices() { return std::getenv("MSDA_TEST_WHOLE") != nullptr; }

// How many steps, seeds or cases to take.
inline int whole_or_slice(int whole, int slice) { return whole_matrices() ? whole : slice; }

// Every n-th of a list's elements from element `first` on, or all of them.
template <class T>
std::vector<T> slice_of(const std::vector<T>& list, std::size_t n, std::size_t first = 0) {
    if (whole_matrices()) return list;
    std::vector<T> some;
    for (std::size_t i = first; i < list.size(); i += n) some.push_back(list[i]);
    return some;
}

}  // namespace msda::test
