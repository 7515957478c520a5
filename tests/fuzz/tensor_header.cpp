// The dictionary at the head of a .npy file: what is accepted reads back.
#include <algorithm>
#include <stdexcept>

#include "runtime/npy_header.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace msda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    NpyHeader header;
    try {
        header = parse_npy_header(fuzz::view(data, size));
    } catch (const std::invalid_argument&) {
        return 0;
    }
    fuzz::require(std::ranges::all_of(header.shape, [](std::int64_t n) { return n >= 0; }), "lengths are counts");
    if (header.descr.find('\'') != std::string::npos) return 0;  // no type that NumPy writes
    const NpyHeader again = parse_npy_header(format_npy_header(header));
    fuzz::require(
        again.descr == header.descr && again.fortran_order == header.fortran_order && again.shape == header.shape,
        "a header reads back");
    return 0;
}
