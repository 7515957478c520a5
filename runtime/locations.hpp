// Where the queries of a synthetic problem look: centres, boxes and offsets, by hash.
#pragma once

#include <array>
#include <vector>

#include "runtime/inputs.hpp"
#include "runtime/random.hpp"

namespace msda {

// Generates locations of a normalised problem; see Locations for the patterns. Pure and thread-safe after construction.
class LocationPattern {
  public:
    LocationPattern(const Problem& problem, Locations kind, std::uint64_t seed);

    // Component k (x, y, width, height) of reference i of query `bq`, counted over (image, query).
    double reference(std::int64_t bq, std::int64_t i, std::int64_t k) const;

    // Coordinate `axis` of the point with index `at` in (B, Q, M, ΣP), which is point p of level l of the head: its
    // location, or its offset where the problem has references.
    double coordinate(std::int64_t bq, std::int64_t head, std::int64_t l, std::int64_t p, std::int64_t at,
                      int axis) const;

  private:
    enum class Shape : std::uint8_t { uniform, pixels, boxes };
    struct Box {
        std::array<double, 2> centre, size;
    };
    Box box(std::int64_t bq) const;
    double centre(std::int64_t bq, int axis) const;
    double offset(std::int64_t head, std::int64_t l, std::int64_t p, std::int64_t at, int axis) const;

    const Problem& problem_;
    Shape shape_;
    bool encoder_;                                  // queries are the pixels of the levels
    std::int64_t columns_, rows_;                   // of the raster of dense queries
    std::vector<std::array<double, 2>> direction_;  // of each head
    RandomStream points_, boxes_;
};

}  // namespace msda
