// Buffers compared byte by byte.
#pragma once

#include <cstring>

#include "msda/msda.hpp"
#include "runtime/inputs.hpp"

namespace msda::test {

inline bool same_bytes(const HostBuffer& a, const HostBuffer& b) {
    return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace msda::test
