// Counter-based random numbers: element i of stream s is a function of (seed, s, i) alone. Integer arithmetic and exact
// floating-point steps only, so that no compiler, library or rounding of fused operations changes a bit.
#pragma once

#include <bit>
#include <cstdint>

namespace msda {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class RandomStream {
  public:
    constexpr RandomStream(std::uint64_t seed, std::uint64_t stream) : key_(mix(seed ^ mix(stream))) {}

    constexpr std::uint64_t bits(std::int64_t i) const {
        return mix(key_ ^ static_cast<std::uint64_t>(i) * 0xd1342543de82ef95u);
    }

    // In [0, 1), a multiple of 2^-24: exact in fp32.
    constexpr double uniform(std::int64_t i) const { return static_cast<double>(bits(i) >> 40) * 0x1p-24; }

    // Normal to the eye: eight uniform 16-bit numbers summed (Irwin-Hall, kurtosis 2.85), mean 0, deviation 1, at
    // most 4.9 either way.
    constexpr double normal(std::int64_t i) const {
        const std::uint64_t a = bits(i), b = mix(a);
        std::int64_t sum = -4 * 65535;
        for (int k = 0; k < 64; k += 16) sum += static_cast<std::int64_t>((a >> k & 0xffffu) + (b >> k & 0xffffu));
        return static_cast<double>(sum) * (5017.0 * 0x1p-28);  // one deviation is sqrt(8 / 12) · 2^16 = 53510
    }

    // Log-uniform in [2^-octaves, 1), linear within each octave.
    constexpr double octave(std::int64_t i, int octaves) const {
        const std::uint64_t b = bits(i);
        const int exponent = static_cast<int>((b & 0xffffu) * static_cast<std::uint64_t>(octaves) >> 16);
        const double fraction = static_cast<double>(b >> 40) * 0x1p-25 + 0.5;  // [0.5, 1)
        return fraction / static_cast<double>(std::uint64_t{1} << exponent);
    }

  private:
    std::uint64_t key_;
};

}  // namespace msda
