// The options that say which problems a command works on: shapes by name or by numbers, types, pass, accumulator.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "msda/msda.hpp"

namespace msda::cli {

// A problem and what people call it: the shipped shape's id, or "custom".
struct NamedProblem {
    std::string shape;
    Problem problem;  // normalised
};

// Reads "100x167,50x84@16700": HEIGHTxWIDTH levels with an optional start. Throws Error(invalid_problem).
std::vector<Level> parse_levels(std::string_view text);

// Problem options of one subcommand.
class ProblemOptions {
  public:
    // Adds the options. `many`: --shape, --dtype, --pass and --accumulate take lists, and --all-shapes exists.
    void add(CLI::App& app, bool many);

    // Every combination of the lists, shapes outermost. Throws Error naming the option, what was expected and what
    // came.
    std::vector<NamedProblem> problems() const;
    // The one problem of a command that takes no lists.
    NamedProblem problem() const;

  private:
    struct Variant;
    Problem base(const std::string& shape, const Variant& variant) const;
    void override_numbers(Problem& problem, bool named) const;
    void override_kinds(Problem& problem) const;

    CLI::App* app_ = nullptr;
    bool many_ = false;
    bool all_shapes_ = false;
    std::string shape_, text_, levels_, points_, strides_, gradients_;
    std::string dtype_ = "f32", location_, weight_, output_, pass_ = "forward", accumulate_ = "automatic";
    std::string sampling_, reference_, specialise_;
    std::int64_t batch_ = -1, queries_ = -1, heads_ = -1, head_dim_ = -1, pixels_ = -1;
    std::int64_t reference_levels_ = -1, pillars_ = -1, alignment_ = -1;
    bool softmax_ = false;
};

}  // namespace msda::cli
