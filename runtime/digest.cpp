#include "runtime/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

namespace msda {
namespace {

std::array<std::uint8_t, 16> canonical_bytes(XXH128_hash_t hash) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), canonical.digest, bytes.size());
    return bytes;
}

}  // namespace

struct Digest::State {
    XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_shared<State>()) { XXH3_128bits_reset(&state_->hash); }

Digest& Digest::add(std::string_view field) {
    add(static_cast<std::int64_t>(field.size()));
    XXH3_128bits_update(&state_->hash, field.data(), field.size());
    return *this;
}

Digest& Digest::add(std::int64_t field) {
    std::array<unsigned char, 8> little{};
    for (std::size_t i = 0; i < little.size(); ++i)
        little[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(field) >> (8 * i));
    XXH3_128bits_update(&state_->hash, little.data(), little.size());
    return *this;
}

std::array<std::uint8_t, 16> Digest::bytes() const { return canonical_bytes(XXH3_128bits_digest(&state_->hash)); }

std::string Digest::hex() const {
    std::string text;
    for (const std::uint8_t byte : bytes()) text += fmt::format("{:02x}", byte);
    return text;
}

std::array<std::uint8_t, 16> digest_of(std::string_view bytes) {
    return canonical_bytes(XXH3_128bits(bytes.data(), bytes.size()));
}

}  // namespace msda
