// Files of one array: magic, version, length of the header, header, elements.
#include "runtime/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <stdexcept>

#include "msda/error.hpp"
#include "runtime/npy_header.hpp"

namespace msda {
namespace {

namespace fs = std::filesystem;
using std::int64_t;

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t largest_header = 1 << 16;  // NumPy writes about 120 bytes

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

template <class... T>
[[noreturn]] void bad(const fs::path& path, fmt::format_string<T...> format, T&&... values) {
    throw Error(Code::bad_file, fmt::format("{}: {}", path.string(), fmt::format(format, std::forward<T>(values)...)));
}
[[noreturn]] void failed(const fs::path& path, std::string_view what) {
    throw Error(Code::io_failed, fmt::format("{}: {}", path.string(), what));
}

// Bytes of an element; 0 for a type that is not numbers in little endian.
std::size_t element_bytes(std::string_view descr) {
    constexpr std::string_view orders = "<|=", kinds = "fiuVb";
    if (descr.size() != 3 || orders.find(descr[0]) == orders.npos || kinds.find(descr[1]) == kinds.npos) return 0;
    const char digit = descr[2];
    return digit == '1' || digit == '2' || digit == '4' || digit == '8' ? static_cast<std::size_t>(digit - '0') : 0;
}

std::string_view descr_of(Type type) {
    switch (type) {
        case Type::f16:
            return "<f2";
        case Type::bf16:
            return "<V2";
        case Type::f64:
            return "<f8";
        case Type::e4m3:
            return "|V1";
        case Type::f32:
            break;
    }
    return "<f4";
}

bool same_type(Type type, std::string_view descr) {
    if (element_bytes(descr) != bytes_of(type)) return false;
    if (type == Type::bf16 || type == Type::e4m3) return descr[1] == 'V' || descr[1] == 'u';
    return descr[1] == 'f';
}

std::string text_of(std::span<const int64_t> shape) {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

void read_exactly(std::ifstream& file, const fs::path& path, void* out, std::size_t bytes) {
    file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
    if (static_cast<std::size_t>(file.gcount()) != bytes) bad(path, "ends too early");
}

NpyHeader read_header(std::ifstream& file, const fs::path& path) {
    std::array<unsigned char, 8> start{};
    read_exactly(file, path, start.data(), start.size());
    if (!std::equal(npy_magic.begin(), npy_magic.end(), start.begin(),
                    [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; }))
        bad(path, "not a .npy file");
    const int version = start[6];
    if (version < 1 || version > 3) bad(path, "version {}.{}: expected 1.0, 2.0 or 3.0", version, start[7]);
    std::array<unsigned char, 4> size{};
    read_exactly(file, path, size.data(), version == 1 ? 2 : 4);
    const std::size_t length =
        size[0] | std::size_t{size[1]} << 8 | std::size_t{size[2]} << 16 | std::size_t{size[3]} << 24;
    if (length > largest_header) bad(path, "header of {} bytes: expected at most {}", length, largest_header);
    std::string text(length, ' ');
    read_exactly(file, path, text.data(), length);
    try {
        return parse_npy_header(text);
    } catch (const std::invalid_argument& fault) {
        bad(path, "{}", fault.what());
    }
}

void write_file(const fs::path& path, std::string_view descr, std::span<const int64_t> shape, const void* data) {
    int64_t elements = 1;
    for (const int64_t n : shape) elements *= n;
    std::string header = format_npy_header({std::string(descr), false, {shape.begin(), shape.end()}});
    header.append(63 - (npy_magic.size() + 4 + header.size()) % 64, ' ');  // elements start at a multiple of 64 bytes
    header += '\n';
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) failed(path, "cannot be opened for writing");
    file.write(npy_magic.data(), static_cast<std::streamsize>(npy_magic.size()));
    const std::array<char, 4> lead = {1, 0, static_cast<char>(header.size() & 0xff),
                                      static_cast<char>(header.size() >> 8)};
    file.write(lead.data(), lead.size());
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    if (elements > 0)
        file.write(static_cast<const char*>(data),
                   static_cast<std::streamsize>(static_cast<std::size_t>(elements) * element_bytes(descr)));
    file.close();
    if (file) return;
    std::error_code ignored;
    fs::remove(path, ignored);
    failed(path, "cannot be written (disk full?)");
}

}  // namespace

int64_t NpyArray::elements() const {
    if (std::ranges::find(shape, 0) != shape.end()) return 0;  // the other lengths may be anything then
    int64_t count = 1;
    for (const int64_t n : shape) count *= n;
    return count;
}

NpyArray read_npy(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (!file || error) failed(path, "cannot be opened for reading");
    const NpyHeader header = read_header(file, path);
    if (header.fortran_order) bad(path, "Fortran order: expected C order (numpy.ascontiguousarray)");
    const std::size_t element = element_bytes(header.descr);
    if (element == 0) bad(path, "type '{}': expected little-endian numbers of 1, 2, 4 or 8 bytes", header.descr);
    const std::uint64_t remaining = size - static_cast<std::uint64_t>(file.tellg());
    // Compared by division, so that no shape overflows; nothing is allocated before the sizes agree.
    std::uint64_t bytes = element;
    const bool empty = std::ranges::find(header.shape, 0) != header.shape.end();
    for (const int64_t n : header.shape) {
        if (empty) break;
        if (bytes > remaining / static_cast<std::uint64_t>(n))
            bad(path, "shape {} needs more than the {} bytes there", text_of(header.shape), remaining);
        bytes *= static_cast<std::uint64_t>(n);
    }
    if (empty) bytes = 0;
    if (bytes != remaining)
        bad(path, "shape {} of '{}' needs {} bytes, got {}", text_of(header.shape), header.descr, bytes, remaining);
    NpyArray array{header.descr, header.shape, HostBuffer(static_cast<std::size_t>(bytes))};
    read_exactly(file, path, array.data.data(), array.data.bytes());
    return array;
}

HostBuffer read_npy(const fs::path& path, Type type, std::span<const int64_t> shape) {
    NpyArray array = read_npy(path);
    if (!same_type(type, array.descr))
        bad(path, "type: expected '{}' ({}), got '{}'", descr_of(type), name(type), array.descr);
    if (!std::ranges::equal(array.shape, shape))
        bad(path, "shape: expected {}, got {}", text_of(shape), text_of(array.shape));
    return std::move(array.data);
}

void write_npy(const fs::path& path, Type type, std::span<const int64_t> shape, const void* data) {
    write_file(path, descr_of(type), shape, data);
}

void write_npy(const fs::path& path, std::span<const int64_t> shape, const int64_t* data) {
    write_file(path, "<i8", shape, data);
}

}  // namespace msda
