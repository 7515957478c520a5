// The parent's side of the protocol: requests, faults, restarts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "msda/error.hpp"
#include "runtime/tuner/serve.hpp"
#include "runtime/tuner/worker_process.hpp"

namespace msda {
namespace {

using Json = nlohmann::json;

constexpr int most_workers =
    20;  // of one problem: a device on which so many candidates fault is not fit to be measured

// A time that JSON cannot hold (NaN, infinity) arrives as null and counts as no time.
double time_of(const Json& json) { return json.is_number() ? json.get<double>() : 0.0; }

}  // namespace

class RemoteTrack::Worker {
  public:
    explicit Worker(const std::vector<std::string>& command) : process(command), reader(process.output()) {}
    ChildProcess process;
    LineReader reader;
};

RemoteTrack::RemoteTrack(std::vector<std::string> command, std::chrono::milliseconds patience)
    : command_(std::move(command)), patience_(patience) {}
RemoteTrack::~RemoteTrack() = default;

void RemoteTrack::open(const Problem& problem, const TrackSettings& settings) {
    problem_ = problem;
    settings_ = settings;
    workers_ = 0;
    start();
}

// A worker that dies while it makes inputs and reference died of no candidate: that is an error of the device.
void RemoteTrack::start() {
    const Json request = {{"do", "open"},           {"problem", canonical(problem_)}, {"device", settings_.ordinal},
                          {"seed", settings_.seed}, {"data", settings_.data},         {"captured", settings_.captured}};
    for (int attempt = 0;; attempt++) {
        if (!worker_) {
            if (++workers_ > most_workers)
                throw Error(Code::driver_failed,
                            fmt::format("{} workers died on one problem; giving it up", most_workers));
            worker_ = std::make_unique<Worker>(command_);
        }
        const bool sent = write_all(worker_->process.input(), request.dump() + "\n");
        const auto reply = sent ? worker_->reader.line(patience_) : std::nullopt;
        if (reply) {
            const Json json = Json::parse(*reply, nullptr, false);
            if (json.is_object() && json.contains("memory_mhz")) {
                memory_mhz_ = json["memory_mhz"].get<int>();
                return;
            }
            if (json.is_object() && json.contains("error"))
                throw Error(static_cast<Code>(json.value("code", static_cast<int>(Code::driver_failed))),
                            json["error"].get<std::string>());
        }
        const std::string end = worker_->process.end(true);
        worker_.reset();
        if (attempt > 0)
            throw Error(Code::driver_failed, fmt::format("the worker process {} before any candidate ran", end));
    }
}

std::string RemoteTrack::ask(const std::string& request, std::string_view bytes) {
    if (!worker_) throw Error(Code::driver_failed, "no worker process is left");
    std::string why;
    if (write_all(worker_->process.input(), request + "\n") && write_all(worker_->process.input(), bytes)) {
        if (auto reply = worker_->reader.line(patience_)) {
            const Json json = Json::parse(*reply, nullptr, false);
            if (json.is_object() && json.contains("error"))
                throw Error(static_cast<Code>(json.value("code", static_cast<int>(Code::driver_failed))),
                            json["error"].get<std::string>());
            if (json.is_object() && !json.contains("fault")) return *reply;
            why = json.is_object() ? json.value("fault", "fault") : "the worker answered with no JSON";
        }
    }
    const bool hung = worker_->reader.timed_out();
    const std::string end = worker_->process.end(hung || !why.empty());
    if (why.empty()) why = hung ? fmt::format("hung for {} ms", patience_.count()) : "the worker process " + end;
    worker_.reset();
    start();
    throw DeviceFault(why);
}

void RemoteTrack::load(int candidate, const Config& config, const Binary& binary) {
    const Json request = {{"do", "load"},
                          {"candidate", candidate},
                          {"config", canonical(config)},
                          {"format", binary.target.format == Target::Format::ptx ? "ptx" : "cubin"},
                          {"capability", binary.target.capability},
                          {"suffix", binary.target.suffix},
                          {"bytes", binary.bytes.size()}};
    ask(request.dump(), binary.bytes);
}

void RemoteTrack::unload(int candidate) { ask(Json{{"do", "unload"}, {"candidate", candidate}}.dump()); }

std::string RemoteTrack::verify(int candidate) {
    return Json::parse(ask(Json{{"do", "verify"}, {"candidate", candidate}}.dump()))
        .value("complaint", "no verdict came");
}

Sample RemoteTrack::measure(int candidate, bool warm) {
    const Json reply = Json::parse(ask(Json{{"do", "measure"}, {"candidate", candidate}, {"warm", warm}}.dump()));
    Sample sample;
    for (const Json& us : reply.value("us", Json::array())) sample.us.push_back(time_of(us));
    sample.sm_mhz = reply.value("sm_mhz", 0);
    return sample;
}

}  // namespace msda
