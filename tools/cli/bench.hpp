// The report of `msda bench`: rows, and how they are printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/bench/measurement.hpp"
#include "tools/cli/outcome.hpp"

namespace msda::cli {

// One problem, one kind of locations, L2 cold or warm.
struct BenchRow {
    NamedProblem what;
    std::string locations;  // "model", "uniform" or "captured"
    std::optional<Operator> op;
    std::optional<Measurement> measurement;
    std::string error;  // why there is no measurement
};

// Keys as docs/cli.md lists them; one object for each time that was measured.
void append_json(Json& rows, const BenchRow& row, const Ceilings& ceilings);

// One line a row, cold and warm side by side.
void print_rows(std::ostream& out, const std::vector<BenchRow>& rows, const Ceilings& ceilings);

Json to_json(const Ceilings& ceilings);
void print_ceilings(std::ostream& out, const Ceilings& ceilings);

}  // namespace msda::cli
