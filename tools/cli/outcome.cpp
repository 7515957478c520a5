// One place where results get their names, so that run, verify and bench print the same keys.
#include "tools/cli/outcome.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "runtime/device_info.hpp"
#include "runtime/runtime_state.hpp"

namespace msda::cli {
namespace {

// JSON has no infinity: a mismatch of non-finite numbers is a null.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json errors(const Verification& verification) {
    Json object = Json::object();
    for (const Verdict& verdict : verification.verdicts)
        object[verdict.tensor] = {{"max_error", finite(verdict.difference.max_error)},
                                  {"norm_error", finite(verdict.difference.norm_error)},
                                  {"tolerance", verdict.tolerance},
                                  {"passed", verdict.passed}};
    return object;
}

}  // namespace

const char* name(Locations locations) { return locations == Locations::model ? "model" : "uniform"; }

Locations parse_locations(const std::string& text) {
    if (text == "model") return Locations::model;
    if (text == "uniform") return Locations::uniform;
    throw Error(Code::invalid_argument,
                fmt::format("--locations: expected model or uniform, got '{}'", text.substr(0, 64)));
}

std::string gpu_name(Session& session, Device device) {
    if (device.kind != Device::Kind::gpu) return {};
    return device_info(*session.runtime().state().driver(), device.ordinal).name;
}

Json to_json(const Config& config) {
    Json object = Json::object();
    for (const ConfigField& field : config_fields()) object[std::string(field.name)] = config.*field.member;
    return object;
}

Json to_json(const Outcome& o) {
    const Problem& p = o.what.problem;
    Json json = {{"device", device_name(o.device)}, {"gpu", o.gpu.empty() ? Json(nullptr) : Json(o.gpu)},
                 {"shape", o.what.shape},           {"pass", name(p.pass)},
                 {"dtype", name(p.value)},          {"locations", name(o.locations)}};
    if (p.pass == Pass::backward) json["accumulate"] = name(p.accumulate);
    json["config"] = to_json(o.op.config());
    json["config_origin"] = o.op.config_origin();
    json["source_digest"] = o.op.source_digest();
    json["workspace_bytes"] = o.op.workspace_bytes();
    json["verified"] = o.verification.passed();
    json["max_error"] = finite(o.verification.max_error());
    json["norm_error"] = finite(o.verification.norm_error());
    json["errors"] = errors(o.verification);
    json["reference"] = o.oracle;
    json["median_us"] = o.median_us ? finite(*o.median_us) : Json(nullptr);
    if (!o.timing.empty()) json["timing"] = o.timing;
    if (o.prepare_ms) json["prepare_ms"] = *o.prepare_ms;
    if (!o.verification.overrun.empty()) json["overrun"] = o.verification.overrun;
    json["problem"] = canonical(p);
    json["version"] = version();
    return json;
}

std::string brief(const Config& c, Pass pass) {
    std::string text = c.tile_height > 0 ? fmt::format("tile {}x{}", c.tile_width, c.tile_height)
                                         : fmt::format("queries {}", c.tile_width);
    text += fmt::format(", heads {}, lanes {}, vector {}", c.heads, c.lanes, c.vector);
    if (c.split > 1) text += fmt::format(", split {}", c.split);
    if (c.staging != 0) text += ", staging";
    text += fmt::format(", unroll {}", c.unroll);
    if (c.min_blocks > 0) text += fmt::format(", min_blocks {}", c.min_blocks);
    if (pass == Pass::forward) return text;
    constexpr std::array forms = {"direct", "sorted", "owned", "dense"};  // by Scatter
    text += fmt::format(", {}", forms.at(static_cast<std::size_t>(c.scatter)));
    if (c.scatter != scatter_direct) text += fmt::format(" {} threads, {} cells", c.threads, c.cells);
    return text;
}

std::string short_number(double value) {
    if (!std::isfinite(value)) return value != value ? "nan" : value < 0 ? "-inf" : "inf";
    if (value == 0) return "0";
    const double magnitude = std::abs(value);
    if (magnitude >= 1e5 || magnitude < 1e-2) return fmt::format("{:.2e}", value);
    if (magnitude >= 100) return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}f}", value, magnitude >= 10 ? 1 : 2);
}

std::string duration_text(double us) {
    if (us < 1000) return short_number(us) + " µs";
    if (us < 1e6) return short_number(us / 1000) + " ms";
    return short_number(us / 1e6) + " s";
}

}  // namespace msda::cli
