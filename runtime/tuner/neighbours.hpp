// Which configs of a space are one step apart: what a search tries next around the best.
#pragma once

#include <span>
#include <vector>

#include "msda/config.hpp"

namespace msda {

// Answers for a fixed list of configs. Blocks an SM and threads follow from the shape of a block, so a step is taken in
// what stands behind them: a wider tile keeps the threads an SM that its config asked for.
class Neighbours {
  public:
    explicit Neighbours(std::span<const Config> configs);

    // Numbers of the configs that differ from number `config` in one respect alone, by the next smaller or larger value
    // that occurs there; in the order of the fields.
    std::vector<int> of(int config) const;

  private:
    std::vector<std::vector<int>> coordinates_;  // of each config
};

}  // namespace msda
