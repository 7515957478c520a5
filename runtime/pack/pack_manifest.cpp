// Manifest to JSON and back.
#include "runtime/pack/pack_manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "tuning_db/json_fields.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 6;  // a manifest needs 4

Json place(const PackFile::Entry& entry) {
    return {{"offset", entry.offset}, {"bytes", entry.bytes}, {"digest", entry.digest}};
}

PackFile::Entry parse_place(JsonFields& fields) {
    PackFile::Entry entry;
    entry.offset = static_cast<std::size_t>(fields.integer("offset", 0, INT64_MAX));
    entry.bytes = static_cast<std::size_t>(fields.integer("bytes", 0, INT64_MAX));
    entry.digest = fields.text("digest");
    return entry;
}

std::vector<std::string> parse_names(const Json& json) {
    std::vector<std::string> names;
    if (!json.is_array()) throw Error(Code::bad_file, "kernels: 'kernels' is no list");
    for (const Json& name : json) {
        if (!name.is_string()) throw Error(Code::bad_file, "kernels: a name is not a string");
        names.push_back(name.get<std::string>());
    }
    return names;
}

PackFile::Entry parse_kernels(const Json& json) {
    JsonFields fields(json, "kernels");
    PackFile::Entry entry = parse_place(fields);
    PackedKernels& k = entry.kernels;
    k.source_digest = fields.text("source_digest");
    k.capability = fields.count("capability");
    k.problem = fields.text("problem");
    k.config = fields.text("config");
    k.kernels = parse_names(fields.take("kernels"));
    k.binary.target.format = fields.text("format") == "ptx" ? Target::Format::ptx : Target::Format::cubin;
    k.binary.target.capability = fields.count("target");
    k.binary.target.suffix = fields.text("suffix");
    return entry;
}

}  // namespace

std::string to_json(const PackManifest& manifest) {
    Json kernels = Json::array();
    for (const PackFile::Entry& entry : manifest.kernels) {
        const PackedKernels& k = entry.kernels;
        Json json = place(entry);
        json["source_digest"] = k.source_digest;
        json["capability"] = k.capability;
        json["problem"] = k.problem;
        json["config"] = k.config;
        json["kernels"] = k.kernels;
        json["format"] = k.binary.target.format == Target::Format::ptx ? "ptx" : "cubin";
        json["target"] = k.binary.target.capability;
        json["suffix"] = k.binary.target.suffix;
        kernels.push_back(std::move(json));
    }
    const Json json = {{"generator", manifest.generator}, {"database", place(manifest.database)}, {"kernels", kernels}};
    return json.dump(1) + "\n";
}

PackManifest parse_manifest(std::string_view text) try {
    check_json_limits(text, text.size(), deepest);
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw Error(Code::bad_file, "not valid JSON");
    JsonFields fields(json, "pack");
    PackManifest manifest;
    manifest.generator = fields.text("generator");
    JsonFields database(fields.take("database"), "database");
    manifest.database = parse_place(database);
    const Json& kernels = fields.take("kernels");
    if (!kernels.is_array()) throw Error(Code::bad_file, "pack: 'kernels' is no list");
    for (const Json& one : kernels) manifest.kernels.push_back(parse_kernels(one));
    return manifest;
} catch (const Error& error) {
    throw Error(Code::bad_file, fmt::format("manifest: {}", error.what()));
}

}  // namespace msda
