// What came of one problem on one device, as JSON and as a line of a table: shared by run, verify and bench.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/verify/verify.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/session.hpp"

namespace msda::cli {

using Json = nlohmann::ordered_json;

// A prepared problem and what is known of it after a launch.
struct Outcome {
    NamedProblem what;
    Locations locations = Locations::model;
    Device device;
    std::string gpu;  // the GPU's name, empty on host devices
    Operator op;
    Verification verification;
    std::string oracle;                // "gpu" or "cpu": where the reference was computed
    std::optional<double> median_us;   // of what the device was asked to time
    std::string timing;                // how it was timed
    std::optional<double> prepare_ms;  // of prepare(): compiled, or read from a cache, and loaded
};

const char* name(Locations locations);
// Throws Error(invalid_argument) that lists the names.
Locations parse_locations(const std::string& text);

// The name of the GPU, empty for host devices.
std::string gpu_name(Session& session, Device device);

// Keys: device, gpu, shape, pass, dtype, locations, accumulate (backward), config, config_origin, source_digest,
// workspace_bytes, verified, max_error, norm_error, errors (by tensor), median_us, timing and prepare_ms where timed,
// problem, version.
Json to_json(const Outcome& outcome);
// The config as an object of its fields.
Json to_json(const Config& config);
// The non-default part of a config would hide what runs, so all fields that the pass uses: "tile 8x4, heads 2, ...".
std::string brief(const Config& config, Pass pass);

// A number as tables show it: three or four significant digits, never locale-dependent.
std::string short_number(double value);
// "1.2 µs", "3.4 ms".
std::string duration_text(double us);

}  // namespace msda::cli
