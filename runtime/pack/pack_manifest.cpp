// Manifest to JSON and back.
#include "runtime/pack/pack_manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

Json place(const PackFile::Entry& entry) {
    return {{"offset", entry.offset}, {"bytes", entry.bytes}, {"digest", entry.digest}};
}

PackFile::Entry parse_place(const Json& json) {
    PackFile::Entry entry;
    entry.offset = json.at("offset").get<std::size_t>();
    entry.bytes = json.at("bytes").get<std::size_t>();
    entry.digest = json.at("digest").get<std::string>();
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
    const Json json = Json::parse(text);
    PackManifest manifest;
    manifest.generator = json.at("generator").get<std::string>();
    manifest.database = parse_place(json.at("database"));
    for (const Json& one : json.at("kernels")) {
        PackFile::Entry entry = parse_place(one);
        entry.kernels.source_digest = one.at("source_digest").get<std::string>();
        entry.kernels.capability = one.at("capability").get<int>();
        entry.kernels.problem = one.at("problem").get<std::string>();
        entry.kernels.config = one.at("config").get<std::string>();
        entry.kernels.kernels = one.at("kernels").get<std::vector<std::string>>();
        Target& target = entry.kernels.binary.target;
        target.format = one.at("format") == "ptx" ? Target::Format::ptx : Target::Format::cubin;
        target.capability = one.at("target").get<int>();
        target.suffix = one.at("suffix").get<std::string>();
        manifest.kernels.push_back(std::move(entry));
    }
    return manifest;
} catch (const Json::exception& error) {
    throw Error(Code::bad_file, fmt::format("manifest: {}", error.what()));
}

}  // namespace msda
