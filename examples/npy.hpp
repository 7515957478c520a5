// NumPy's .npy files, as far as an example needs them: float32, C order, little endian.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

struct Npy {
    std::vector<std::int64_t> shape;
    std::vector<float> data;
};

inline Npy read_npy(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto fail = [&](const char* why) { throw std::runtime_error(path + ": " + why); };
    if (!bytes.starts_with("\x93NUMPY\x01") || bytes.size() < 10) fail("not a .npy file of version 1");
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const std::size_t begin = 10, end = begin + byte(8) + 256 * byte(9);
    const std::string header = bytes.substr(begin, end - begin);
    std::smatch shape;
    if (header.find("'<f4'") == std::string::npos || header.find("'fortran_order': False") == std::string::npos ||
        !std::regex_search(header, shape, std::regex("'shape': \\(([0-9, ]*)\\)")))
        fail("expected float32 in C order");
    Npy array;
    std::size_t count = 1;
    const std::string numbers = shape[1];
    const std::regex number("[0-9]+");
    for (std::sregex_iterator n(numbers.begin(), numbers.end(), number), none; n != none; ++n) {
        array.shape.push_back(std::stoll(n->str()));
        count *= static_cast<std::size_t>(array.shape.back());
    }
    if (bytes.size() != end + count * sizeof(float)) fail("its size does not fit its shape");
    array.data.resize(count);
    bytes.copy(reinterpret_cast<char*>(array.data.data()), count * sizeof(float), end);
    return array;
}

inline void write_npy(const std::string& path, const Npy& array) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (const std::int64_t size : array.shape) header += std::to_string(size) + ", ";
    header += "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() % 256) << static_cast<char>(header.size() / 256)
         << header;
    file.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace example
