#include "runtime/choose.hpp"

namespace msda {

ChosenConfig choose_config(const Problem& problem, const Silicon& silicon, bool deterministic, const Layers& layers) {
    const bool deterministic_gradient =
        problem.pass == Pass::backward && problem.accumulate == Accumulate::deterministic;
    if (deterministic || deterministic_gradient) return {default_config(problem, silicon), "heuristic"};
    const Choice choice = layers.choose(problem, silicon);
    return {choice.config, choice.how};
}

}  // namespace msda
