// A 128-bit content digest (XXH3) of a list of fields: the key of caches and packs. It detects change and damage, not
// malice.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace msda {

// Fields are length-prefixed, so ("ab", "c") and ("a", "bc") differ. The result is the same on every machine.
class Digest {
  public:
    Digest();
    Digest& add(std::string_view field);
    Digest& add(std::int64_t field);

    std::array<std::uint8_t, 16> bytes() const;
    // 32 lower-case hexadecimal digits.
    std::string hex() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

// The digest of one run of bytes, without a length prefix.
std::array<std::uint8_t, 16> digest_of(std::string_view bytes);

}  // namespace msda
