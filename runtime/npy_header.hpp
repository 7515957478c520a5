// The dictionary at the head of a .npy file: "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msda {

struct NpyHeader {
    std::string descr;
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
};

// Reads the dictionary; its three keys may come in any order, each once. Throws std::invalid_argument with the fault
// and its column.
NpyHeader parse_npy_header(std::string_view text);

// The dictionary, without padding. Locale free.
std::string format_npy_header(const NpyHeader& header);

}  // namespace msda
