// The worker's side of the protocol.
#include "runtime/tuner/serve.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "runtime/tuner/worker_process.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

Binary read_binary(const Json& request, LineReader& reader) {
    const auto count = request.at("bytes").get<std::size_t>();
    auto bytes = reader.bytes(count);
    if (!bytes) throw Error(Code::bad_file, "worker: the code behind a load request was cut off");
    Binary binary;
    binary.target.format = request.at("format") == "ptx" ? Target::Format::ptx : Target::Format::cubin;
    binary.target.capability = request.at("capability").get<int>();
    binary.target.suffix = request.at("suffix").get<std::string>();
    binary.bytes = std::move(*bytes);
    return binary;
}

void open(Track& track, const Json& request) {
    TrackSettings settings;
    settings.ordinal = request.at("device").get<int>();
    settings.seed = request.at("seed").get<std::uint64_t>();
    settings.data = request.at("data").get<std::vector<std::string>>();
    settings.captured = request.at("captured").get<std::string>();
    track.open(parse_problem(request.at("problem").get<std::string>()), settings);
}

Json answer(Track& track, const Json& request, LineReader& reader) {
    const auto what = request.at("do").get<std::string>();
    const int candidate = request.value("candidate", 0);
    if (what == "open") {
        open(track, request);
        return {{"memory_mhz", track.memory_mhz()}};
    }
    if (what == "load") {
        const Binary binary = read_binary(request, reader);  // before anything can fail, to stay in step
        track.load(candidate, parse_config(request.at("config").get<std::string>()), binary);
        return Json::object();
    }
    if (what == "unload") {
        track.unload(candidate);
        return Json::object();
    }
    if (what == "verify") return {{"complaint", track.verify(candidate)}};
    if (what == "measure") {
        const Sample sample = track.measure(candidate, request.at("warm").get<bool>());
        return {{"us", sample.us}, {"sm_mhz", sample.sm_mhz}};
    }
    throw Error(Code::bad_file, fmt::format("worker: unknown request '{}'", what));
}

}  // namespace

int serve(Track& track, int in, int out) {
    LineReader reader(in);
    while (const auto line = reader.line()) {
        Json reply;
        bool fault = false;
        try {
            reply = answer(track, Json::parse(*line), reader);
        } catch (const DeviceFault& error) {
            reply = {{"fault", error.what()}};
            fault = true;
        } catch (const Error& error) {
            reply = {{"error", error.what()}, {"code", static_cast<int>(error.code())}};
        } catch (const Json::exception& error) {
            throw Error(Code::bad_file, fmt::format("worker: expected one JSON request a line: {}", error.what()));
        }
        if (!write_all(out, reply.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n")) return 0;
        if (fault) return 1;
    }
    return 0;
}

}  // namespace msda
