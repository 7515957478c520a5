// A soak: for minutes, threads prepare, launch and verify problems of changing shapes in random order, with tier-up, so
// that kernels are compiled in the background, swapped in, evicted and unloaded all the time. Nothing may fail, and
// once warm the memory of host and device must not grow. Prints a line every 30 s and "N passed, N failed, N skipped"
// at the end. Exit status 0 when all is well, 77 without a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/current_context.hpp"
#include "runtime/device_stream.hpp"
#include "runtime/parallel.hpp"
#include "runtime/verify/verify.hpp"
#include "tests/fakes/temporary_directory.hpp"
#include "tests/runtime/random_problem.hpp"
#include "tests/volume/cases.hpp"

using namespace msda;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double slack = 3;             // of the tolerance, as in numerics.cpp
constexpr double host_growth = 16e6;    // bytes: threads come and go, and the allocator keeps what they freed
constexpr double device_growth = 16e6;  // bytes: modules are loaded into pages of 2 MB

struct Settings {
    std::string device = "gpu", json;
    double seconds = 600;
    int threads = 4;
    std::int64_t shapes = 320;
};

// A problem, what it reads and what must come of it.
struct Shape {
    Problem problem;
    Inputs inputs;
    ReferenceResult reference;
};

// A quarter: RT-DETR's decoder at the 13 image sizes of its training, in both passes and three types, with fewer
// channels; the others: random problems.
Problem problem_of(std::int64_t i, const Silicon& silicon) {
    if (i % 4 == 0) {
        const std::int64_t k = i / 4, side = 480 + 32 * (k % 13);
        Problem p;
        p.pass = k / 13 % 2 == 0 ? Pass::forward : Pass::backward;
        p.queries = 300;
        p.heads = 4;
        p.head_dim = 16;
        p.levels = {{side / 8, side / 8}, {side / 16, side / 16}, {side / 32, side / 32}};
        const Type types[] = {Type::f16, Type::bf16, Type::f32};
        p.value = p.weight = types[k / 26 % 3];
        return normalise(p);
    }
    for (std::uint64_t seed = static_cast<std::uint64_t>(i);; seed += 100'000)
        if (const auto kernel = volume::draw_kernel(seed, silicon)) return kernel->problem;
}

std::vector<Shape> make_shapes(const Settings& settings, const Silicon& silicon) {
    std::vector<Shape> shapes(static_cast<std::size_t>(settings.shapes));
    parallel_for(thread_count(0), settings.shapes, 1, [&](std::int64_t i, std::int64_t, int) {
        Shape& shape = shapes[static_cast<std::size_t>(i)];
        shape.problem = problem_of(i, silicon);
        shape.inputs = volume::draw_inputs(shape.problem, static_cast<std::uint64_t>(i));
        shape.reference = compute_reference(shape.problem, shape.inputs.tensors(), 1);
    });
    return shapes;
}

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double pages = 0, resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

class Soak {
  public:
    Soak(const Settings& settings, Options options, Device device)
        : settings_(settings),
          options_(std::move(options)),
          device_(device),
          runtime_(options_),
          place_(DevicePlace::of(runtime_, device)),
          shapes_(make_shapes(settings, runtime_.silicon(device))) {}

    bool run() {
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < settings_.threads; t++) threads.emplace_back([this, t] { work(t); });
            watch();
            stop_ = true;
        }
        return report();
    }

  private:
    struct Sample {
        double seconds, host, device;
    };

    double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    double device_bytes() const {
        if (place_.context == nullptr) return 0;
        const CurrentContext current(place_.context->driver(), place_.context->handle());
        std::size_t free = 0, total = 0;
        place_.context->driver().check(place_.context->driver().mem_get_info, &free, &total);
        return static_cast<double>(total - free);
    }

    void watch() {
        double next_line = 30;
        while (elapsed() < settings_.seconds) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            samples_.push_back({elapsed(), resident_bytes(), device_bytes()});
            if (elapsed() < next_line) continue;
            next_line += 30;
            fmt::print("{:4.0f} s: {} launches, {} verified, {:.0f} MB of host memory, {:.0f} MB of the device\n",
                       elapsed(), launches_.load(), verified_.load(), samples_.back().host / 1e6,
                       samples_.back().device / 1e6);
            std::fflush(stdout);
        }
    }

    // One thread: its own memory and stream, problems in an order of its own.
    void work(int thread) try {
        DeviceTensors tensors(place_);
        Outputs outputs;
        std::unique_ptr<DeviceStream> stream;
        if (place_.context != nullptr) stream = std::make_unique<DeviceStream>(place_.context);
        test::Dice dice(static_cast<std::uint64_t>(1000 + thread));
        while (!stop_) {
            const Shape& shape = shapes_[static_cast<std::size_t>(dice.between(0, settings_.shapes - 1))];
            if (dice.chance(500)) {
                Runtime another(options_);
                step(another, shape, tensors, nullptr, 1, outputs);
            } else {
                step(runtime_, shape, tensors, stream.get(), dice.between(1, 8), outputs);
            }
        }
    } catch (const std::exception& error) {
        fail(error.what());
    }

    void step(Runtime& runtime, const Shape& shape, DeviceTensors& tensors, const DeviceStream* stream,
              std::int64_t launches, Outputs& outputs) {
        const Operator op = runtime.prepare(shape.problem, device_);
        tensors.fit(shape.problem, op.workspace_bytes());
        tensors.upload(shape.inputs);
        for (std::int64_t i = 1; i < launches; i++) op.launch(tensors.addresses(), stream ? stream->handle() : nullptr);
        if (stream) stream->synchronize();
        const Verification result = verify(op, tensors, shape.reference, 1, &outputs);
        launches_ += launches;
        (op.tier() == Specialise::family ? on_family_ : on_exact_)++;
        verified_++;
        const bool good = result.overrun.empty() && std::ranges::all_of(result.verdicts, [](const Verdict& v) {
                              return v.difference.within(slack * v.tolerance);
                          });
        if (!good) fail(fmt::format("{} {}: {}", canonical(shape.problem), canonical(op.config()), result.complaint()));
    }

    void fail(const std::string& why) {
        const std::lock_guard lock(mutex_);
        failures_++;
        fmt::print("FAILED: {}\n", why);
        std::fflush(stdout);
    }

    // The least that was in use in a part of the time: what is never given back. The most would tell of the compiler
    // that happened to run.
    double least(double Sample::*what, double from, double to) const {
        double result = std::numeric_limits<double>::max();
        for (const Sample& s : samples_)
            if (s.seconds >= from * settings_.seconds && s.seconds <= to * settings_.seconds)
                result = std::min(result, s.*what);
        return result;
    }

    bool report() {
        // Half of the time is for warming up: every shape seen and compiled, every buffer grown.
        const double host = least(&Sample::host, 0.75, 1) - least(&Sample::host, 0.5, 0.75);
        const double device = least(&Sample::device, 0.75, 1) - least(&Sample::device, 0.5, 0.75);
        if (host > host_growth) fail(fmt::format("host memory grew by {:.1f} MB", host / 1e6));
        if (device > device_growth) fail(fmt::format("device memory grew by {:.1f} MB", device / 1e6));
        fmt::print(
            "{} launches of {} shapes by {} threads in {:.0f} s on {}: {} verified, {} on family kernels and {} "
            "on exact ones; from the third quarter to the last, the least host memory {:+.1f} MB, device memory "
            "{:+.1f} MB\n",
            launches_.load(), settings_.shapes, settings_.threads, settings_.seconds, settings_.device,
            verified_.load(), on_family_.load(), on_exact_.load(), host / 1e6, device / 1e6);
        if (!settings_.json.empty()) {
            const nlohmann::ordered_json all = {{"version", version()},
                                                {"device", settings_.device},
                                                {"seconds", settings_.seconds},
                                                {"shapes", settings_.shapes},
                                                {"threads", settings_.threads},
                                                {"launches", launches_.load()},
                                                {"verified", verified_.load()},
                                                {"on_family", on_family_.load()},
                                                {"on_exact", on_exact_.load()},
                                                {"host_growth_bytes", host},
                                                {"device_growth_bytes", device},
                                                {"failed", failures_},
                                                {"host_bytes", least(&Sample::host, 0.75, 1)},
                                                {"device_bytes", least(&Sample::device, 0.75, 1)}};
            std::ofstream file(settings_.json);
            file << all.dump(1) << '\n';
            if (!file.flush()) fail(fmt::format("cannot write {}", settings_.json));
        }
        const std::int64_t checks = verified_.load() + 2;  // and the two memories
        fmt::print("{} passed, {} failed, 0 skipped\n", checks - failures_, failures_);
        return failures_ == 0 && verified_.load() > 0;
    }

    const Settings& settings_;
    const Options options_;
    const Device device_;
    Runtime runtime_;
    const DevicePlace place_;
    const std::vector<Shape> shapes_;
    const Clock::time_point start_ = Clock::now();
    std::atomic<bool> stop_ = false;
    std::atomic<std::int64_t> launches_ = 0, verified_ = 0, on_family_ = 0, on_exact_ = 0;
    std::mutex mutex_;
    std::int64_t failures_ = 0;
    std::vector<Sample> samples_;
};

}  // namespace

int main(int argc, char** argv) try {
    Settings settings;
    CLI::App app("Prepares, launches and verifies changing shapes for a while; memory must stay constant.");
    app.add_option("--device", settings.device, "gpu or cpu")->check(CLI::IsMember({"gpu", "cpu"}));
    app.add_option("--seconds", settings.seconds, "how long")->check(CLI::Range(4, 100'000));
    app.add_option("--threads", settings.threads, "host threads that launch")->check(CLI::Range(1, 64));
    app.add_option("--shapes", settings.shapes, "how many problems")->check(CLI::Range(8, 4096));
    app.add_option("--json", settings.json, "writes the figures to this file too");
    CLI11_PARSE(app, argc, argv);
    const fakes::TemporaryDirectory cache;
    Options options = Options::from_environment();
    options.cache_directory = cache / "kernels";
    options.tier_up = true;
    options.cpu_threads = 1;
    if (settings.device == "gpu" && !Runtime(options).has_gpu()) {
        fmt::print("no GPU\n0 passed, 0 failed, 1 skipped\n");
        return 77;
    }
    return Soak(settings, options, settings.device == "gpu" ? Device::gpu() : Device::cpu()).run() ? 0 : 1;
} catch (const std::exception& error) {
    fmt::print("{}\n0 passed, 1 failed, 0 skipped\n", error.what());
    return 1;
}
