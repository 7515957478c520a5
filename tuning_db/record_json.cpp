// JSON of a record: strict on reading, byte-stable on writing.
#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "tuning_db/json_fields.hpp"
#include "tuning_db/record.hpp"
#include "tuning_db/schema.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_line = std::size_t{1} << 20;  // a problem of 1000 levels needs 40 KiB
constexpr int deepest = 6;                                  // a record needs 3

Json figures_json(const Figures& figures) {
    Json json = {{"cold", Json::object()}, {"warm", Json::object()}};
    for (const auto& [kind, us] : figures.cold) json["cold"][kind] = us;
    for (const auto& [kind, us] : figures.warm) json["warm"][kind] = us;
    return json;
}

Json record_json(const Record& r) {
    return {{"candidates", r.candidates},
            {"clocks", {{"memory_mhz", r.memory_mhz}, {"sm_mhz", r.sm_mhz}}},
            {"command", r.command},
            {"config", r.config},
            {"date", r.date},
            {"default_time", figures_json(r.default_time)},
            {"default_us", r.default_us},
            {"driver", r.driver},
            {"generator", r.generator},
            {"gpu", r.gpu},
            {"mad_us", r.mad_us},
            {"nvrtc", r.nvrtc},
            {"policy", r.policy},
            {"problem", r.problem},
            {"samples", r.samples},
            {"silicon",
             {{"bus_width", r.silicon.bus_width},
              {"capability", r.silicon.capability},
              {"l2_bytes", r.silicon.l2_bytes},
              {"partition", r.silicon.partition},
              {"sm_count", r.silicon.sm_count}}},
            {"time", figures_json(r.time)},
            {"time_us", r.time_us}};
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string digest_of(const std::string& text) {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string digest_of(const Json& json) { return digest_of(text_of(json)); }

std::map<std::string, double> times_by_kind(const Json& json, const std::string& name) {
    std::map<std::string, double> times;
    JsonFields fields(json, name);
    for (const auto& item : json.items()) times.emplace(item.key(), fields.time(item.key()));
    return times;
}

Figures parse_figures(const Json& json, const std::string& name) {
    JsonFields fields(json, name);
    Figures figures{times_by_kind(fields.take("cold"), name + ".cold"),
                    times_by_kind(fields.take("warm"), name + ".warm")};
    fields.finish();
    return figures;
}

SiliconKey read_silicon(const Json& json) {
    JsonFields fields(json, "silicon");
    SiliconKey key{.capability = fields.count("capability"),
                   .sm_count = fields.count("sm_count"),
                   .l2_bytes = fields.integer("l2_bytes", 0, INT64_MAX),
                   .bus_width = fields.count("bus_width"),
                   .partition = fields.text("partition")};
    fields.finish();
    return key;
}

std::map<std::string, std::int64_t> parse_config_table(const Json& json) {
    JsonFields fields(json, "config");
    std::map<std::string, std::int64_t> table;
    for (const auto& item : json.items()) table.emplace(item.key(), fields.integer(item.key(), INT64_MIN, INT64_MAX));
    return table;
}

Record parse_record(const Json& json) {
    JsonFields fields(json, "record");
    Record r;
    r.problem = fields.text("problem");
    r.silicon = read_silicon(fields.take("silicon"));
    r.config = parse_config_table(fields.take("config"));
    r.time_us = fields.time("time_us");
    r.default_us = fields.time("default_us");
    r.mad_us = fields.time("mad_us", true);
    r.time = parse_figures(fields.take("time"), "time");
    r.default_time = parse_figures(fields.take("default_time"), "default_time");
    r.samples = fields.integer("samples", 0, INT64_MAX);
    r.policy = fields.count("policy");
    r.candidates = fields.count("candidates");
    JsonFields clocks(fields.take("clocks"), "clocks");
    r.sm_mhz = clocks.count("sm_mhz");
    r.memory_mhz = clocks.count("memory_mhz");
    clocks.finish();
    r.gpu = fields.text("gpu");
    r.driver = fields.text("driver");
    r.nvrtc = fields.text("nvrtc");
    r.generator = fields.text("generator");
    r.date = fields.text("date");
    r.command = fields.text("command");
    fields.finish();
    return r;
}

}  // namespace

std::string digest(const Record& record) { return digest_of(record_json(record)); }

std::string to_line(const Record& record) {
    Json json = record_json(record);
    json["digest"] = digest_of(json);
    return text_of(json);
}

bool is_intact(std::string_view line) {
    constexpr std::string_view key = R"("digest":")";
    constexpr std::size_t digits = 32;
    const std::size_t start = line.find(key);
    if (start == std::string_view::npos || line.size() > longest_line) return false;
    const std::string_view stated = line.substr(start + key.size()).substr(0, digits);
    const std::string_view after = line.substr(start + key.size() + stated.size());
    if (!after.starts_with("\",")) return false;
    return digest_of(std::string(line.substr(0, start)) + std::string(after.substr(2))) == stated;
}

SiliconKey parse_silicon(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) refuse("silicon: not a JSON object");
    return read_silicon(json);
}

Record parse_line(std::string_view line, int schema) {
    check_json_limits(line, longest_line, deepest);
    Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) refuse("not valid JSON");
    if (!json.is_object()) refuse("not a JSON object");
    if (json.contains("digest")) {
        const Json stated = json["digest"];
        json.erase("digest");
        if (!stated.is_string() || stated.get<std::string>() != digest_of(json))
            refuse("content does not fit its digest (after an edit by hand, remove the digest)");
    }
    return parse_record(schema < current_schema ? migrate(std::move(json), schema) : json);
}

}  // namespace msda
