// The two ends of a track in another process: one JSON line a request and a reply, over pipes, code as raw bytes behind
// its request. An illegal access, a hang or a crash then costs a worker and names its candidate, and the run goes on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tuner/track.hpp"

namespace msda {

// The worker's loop (`msda worker`): serves `track` from descriptor `in` to descriptor `out` until the parent closes
// its end. Returns the process's exit code: 0, or 1 after a fault, since a CUDA context is of no use behind one. Throws
// Error(bad_file) on a request that is no such line.
int serve(Track& track, int in, int out);

// The parent's end: a track in a worker process that is started at open() and again after each fault.
class RemoteTrack final : public Track {
  public:
    // `command`: program and arguments of a worker. `patience`: a request that takes longer is a hang; the worker is
    // killed.
    explicit RemoteTrack(std::vector<std::string> command,
                         std::chrono::milliseconds patience = std::chrono::seconds(60));
    ~RemoteTrack() override;

    void open(const Problem& problem, const TrackSettings& settings) override;
    void load(int candidate, const Config& config, const Binary& binary) override;
    void unload(int candidate) override;
    std::string verify(int candidate) override;
    Sample measure(int candidate, bool warm) override;
    int memory_mhz() override { return memory_mhz_; }

    // Workers started so far.
    int workers() const { return workers_; }

  private:
    class Worker;
    // Sends a request line, with bytes behind it, and returns the reply line. Throws DeviceFault after starting a new
    // worker.
    std::string ask(const std::string& request, std::string_view bytes = {});
    void start();

    std::vector<std::string> command_;
    std::chrono::milliseconds patience_;
    std::unique_ptr<Worker> worker_;
    int workers_ = 0;
    int memory_mhz_ = 0;
    Problem problem_;
    TrackSettings settings_;
};

}  // namespace msda
