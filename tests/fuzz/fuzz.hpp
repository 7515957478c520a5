// What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput (LLVM's libFuzzer); whatever
// leaves it but a refusal by msda::Error is a crash, and so is a promise that does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "msda/error.hpp"

namespace msda::fuzz {

// Ends the process, with the input kept by libFuzzer, when a promise does not hold.
inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

// What `call` returns, or nothing where it refuses by an Error.
template <class Call>
auto accepted(Call call) -> std::optional<decltype(call())> {
    try {
        return call();
    } catch (const Error& error) {
        require(error.what()[0] != '\0', "an error is a sentence");
        return std::nullopt;
    }
}

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Takes the first byte off an input; 0 when there is none.
inline int take_byte(std::string_view& input) {
    if (input.empty()) return 0;
    const int byte = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    return byte;
}

// The parts between separators, at least one.
inline std::vector<std::string_view> parts(std::string_view input, char separator) {
    std::vector<std::string_view> all;
    for (;;) {
        const std::size_t end = input.find(separator);
        all.push_back(input.substr(0, end));
        if (end == std::string_view::npos) return all;
        input.remove_prefix(end + 1);
    }
}

}  // namespace msda::fuzz
