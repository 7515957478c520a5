// Kernels against the double-precision reference at volume: random kernels, each on many random shapes and inputs, on
// all host threads. Prints the worst error of each type and tensor, every failure with the command that repeats it, and
// "N passed, N failed, N skipped" at the end. Exit status 0 when all passed, 77 without a GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/parallel.hpp"
#include "runtime/verify/verify.hpp"
#include "tests/runtime/properties.hpp"
#include "tests/volume/cases.hpp"

using namespace msda;
using namespace msda::volume;

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    std::string device = "gpu", json;
    std::int64_t first = 1, kernels = 800, shapes = 30, only_shape = -1;
    int threads = 0;
    double seconds = 0;  // 0: no limit
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Sums of few terms cancel more than a model's: three times the tolerance.
constexpr double slack = 3;

// A runtime keeps the code of the last 32 kernels; what a thread is at must be among them.
constexpr int most_threads = 24;

// What the threads find, under one lock.
class Report {
  public:
    explicit Report(const Settings& settings) : settings_(settings) {}

    void kernel(double compile_seconds, bool first_of_source) {
        const std::lock_guard lock(mutex_);
        kernels_ += first_of_source;
        compile_seconds_ += compile_seconds;
    }
    void judge(const KernelCase& kernel, std::uint64_t shape, const Problem& problem, const Verification& result) {
        const std::lock_guard lock(mutex_);
        cases_++;
        std::string why = result.overrun.empty() ? "" : "something was written beside " + result.overrun;
        for (const Verdict& v : result.verdicts) {
            const bool native = problem.accumulate == Accumulate::native && v.tensor == "grad_value";
            Worst& worst = worst_[fmt::format("{} {}{}", name(type_of(problem, v.tensor)), v.tensor,
                                              native && bytes_of(problem.value) == 2 ? " (native sums)" : "")];
            worst.cases++;
            if (!(v.difference.norm_error <= worst.norm_error)) {
                worst.norm_error = v.difference.norm_error;
                worst.tolerance = v.tolerance;
                worst.repeat = repeat(kernel, shape);
            }
            if (!v.difference.within(slack * v.tolerance))
                why += fmt::format("{}{}: norm error {:.3g}, expected at most {:.3g}, worst at element {}",
                                   why.empty() ? "" : "; ", v.tensor, v.difference.norm_error, slack * v.tolerance,
                                   v.difference.worst);
        }
        if (!why.empty()) fail(kernel, shape, problem, why);
    }
    void property(const KernelCase& kernel, const std::string& why) {
        const std::lock_guard lock(mutex_);
        properties_++;
        if (!why.empty()) fail(kernel, 0, kernel.problem, why);
    }
    void error(const KernelCase& kernel, std::uint64_t shape, const Problem& problem, const std::string& why) {
        const std::lock_guard lock(mutex_);
        cases_++;
        fail(kernel, shape, problem, why);
    }
    bool finish(double seconds) const;

  private:
    struct Worst {
        std::int64_t cases = 0;
        double norm_error = -1, tolerance = 0;
        std::string repeat;
    };
    static Type type_of(const Problem& p, const std::string& tensor) {
        if (tensor == "grad_locations" || tensor == "grad_references") return p.location;
        return tensor == "grad_weights" ? p.weight : tensor == "grad_value" ? p.value : p.output;
    }
    std::string repeat(const KernelCase& kernel, std::uint64_t shape) const {
        return fmt::format("msda_numerics --device {} --first {} --kernels 1 --shape {}", settings_.device, kernel.seed,
                           shape);
    }
    void fail(const KernelCase& kernel, std::uint64_t shape, const Problem& problem, const std::string& why) {
        failures_++;
        fmt::print("FAILED: {}\n  {}\n  {}\n  {}\n", repeat(kernel, shape), why, canonical(problem),
                   canonical(kernel.config));
        std::fflush(stdout);
    }

    const Settings& settings_;
    std::mutex mutex_;
    std::int64_t kernels_ = 0, cases_ = 0, properties_ = 0, failures_ = 0;
    double compile_seconds_ = 0;
    std::map<std::string, Worst> worst_;
};

bool Report::finish(double seconds) const {
    fmt::print("{:32} {:>8} {:>12} {:>12}  {}\n", "type, tensor", "cases", "norm error", "tolerance", "worst case");
    nlohmann::ordered_json worst = nlohmann::ordered_json::array();
    for (const auto& [what, w] : worst_) {
        fmt::print("{:32} {:8} {:12.3g} {:12.3g}  {}\n", what, w.cases, w.norm_error, w.tolerance, w.repeat);
        worst.push_back({{"what", what},
                         {"cases", w.cases},
                         {"norm_error", w.norm_error},
                         {"tolerance", w.tolerance},
                         {"repeat", w.repeat}});
    }
    fmt::print(
        "{} cases of {} kernels on {}, {} checks of linearity and order, in {:.0f} s ({:.0f} s of threads spent "
        "on compiling)\n",
        cases_, kernels_, settings_.device, properties_, seconds, compile_seconds_);
    if (!settings_.json.empty()) {
        const nlohmann::ordered_json all = {{"version", version()},     {"device", settings_.device},
                                            {"first", settings_.first}, {"cases", cases_},
                                            {"kernels", kernels_},      {"properties", properties_},
                                            {"failed", failures_},      {"seconds", static_cast<int>(seconds)},
                                            {"slack", slack},           {"worst", worst}};
        std::ofstream file(settings_.json);
        file << all.dump(1) << '\n';
        if (!file.flush()) throw Error(Code::io_failed, fmt::format("cannot write {}", settings_.json));
    }
    fmt::print("{} passed, {} failed, 0 skipped\n", cases_ + properties_ - failures_, failures_);
    return failures_ == 0 && cases_ > 0;
}

// One thread's memory on the device.
struct Place {
    Place(Runtime& runtime, Device device) : tensors(DevicePlace::of(runtime, device)) {}
    DeviceTensors tensors;
    Outputs outputs;

    // A launch of host tensors through the device's memory.
    void launch(const Operator& op, const Tensors& host) {
        const Problem& p = op.problem();
        const Sizes size = sizes(p);
        const auto borrow = [](const void* from, std::int64_t elements, Type type) {
            HostBuffer buffer(from == nullptr ? 0 : static_cast<std::size_t>(elements) * bytes_of(type));
            if (buffer.bytes() > 0) std::memcpy(buffer.data(), from, buffer.bytes());
            return buffer;
        };
        Inputs inputs;
        inputs.value = borrow(host.value, size.value, p.value);
        inputs.locations = borrow(host.locations, size.locations, p.location);
        inputs.weights = borrow(host.weights, size.weights, p.weight);
        inputs.scales = borrow(host.scales, p.heads, Type::f32);
        inputs.grad_output = borrow(host.grad_output, size.output, p.output);
        tensors.fit(p, op.workspace_bytes());
        tensors.upload(inputs);
        tensors.poison();
        op.launch(tensors.addresses());
        tensors.place().wait();
        tensors.download(outputs);
        const auto give = [](void* to, const HostBuffer& from) {
            if (to != nullptr) std::memcpy(to, from.data(), from.bytes());
        };
        give(host.output, outputs.output);
        give(host.grad_value, outputs.grad_value);
        give(host.grad_locations, outputs.grad_locations);
        give(host.grad_weights, outputs.grad_weights);
    }
};

class Run {
  public:
    Run(Runtime& runtime, Device device, const Settings& settings)
        : runtime_(runtime),
          device_(device),
          silicon_(runtime.silicon(device)),
          settings_(settings),
          report_(settings) {}

    bool all() {
        const int threads = std::min(thread_count(settings_.threads), most_threads);
        std::vector<std::unique_ptr<Place>> places(static_cast<std::size_t>(threads));
        parallel_for(threads, settings_.kernels, 1, [&](std::int64_t i, std::int64_t, int worker) {
            if (settings_.seconds > 0 && since(start_) > settings_.seconds) return;
            std::unique_ptr<Place>& place = places[static_cast<std::size_t>(worker)];
            if (place == nullptr) place = std::make_unique<Place>(runtime_, device_);
            const auto kernel = draw_kernel(static_cast<std::uint64_t>(settings_.first + i), silicon_);
            if (kernel) check(*kernel, *place);
        });
        return report_.finish(since(start_));
    }

  private:
    void check(const KernelCase& kernel, Place& place) {
        std::uint64_t shape = settings_.only_shape >= 0 ? static_cast<std::uint64_t>(settings_.only_shape) : 0;
        const std::uint64_t end = settings_.only_shape >= 0 ? shape + 1 : static_cast<std::uint64_t>(settings_.shapes);
        Problem problem = kernel.problem;
        try {
            const Clock::time_point before = Clock::now();
            const Operator first = runtime_.prepare(problem, kernel.config, device_);
            report_.kernel(since(before), is_new(kernel.source));
            for (; shape < end; shape++) {
                const auto drawn = draw_shape(kernel, shape, silicon_);
                if (!drawn) continue;
                problem = *drawn;
                const Operator op = runtime_.prepare(problem, kernel.config, device_);
                const Inputs inputs = draw_inputs(problem, kernel.seed * 4096 + shape);
                place.tensors.fit(problem, op.workspace_bytes());
                place.tensors.upload(inputs);
                const ReferenceResult reference = compute_reference(problem, inputs.tensors(), 1);
                report_.judge(kernel, shape, problem, verify(op, place.tensors, reference, 1, &place.outputs));
            }
            const Problem& p = kernel.problem;
            if (settings_.only_shape > 0 || !p.dense() || p.softmax || p.reference != Reference::none) return;
            report_.property(kernel, test::broken_property(kernel.problem, Locations::model, kernel.seed,
                                                           [&](const Tensors& t) { place.launch(first, t); }));
        } catch (const Error& error) {
            report_.error(kernel, shape, problem, error.what());
        }
    }
    bool is_new(const std::string& source) {
        const std::lock_guard lock(mutex_);
        return sources_.insert(source).second;
    }

    Runtime& runtime_;
    const Device device_;
    const Silicon silicon_;
    const Settings& settings_;
    Report report_;
    std::mutex mutex_;
    std::set<std::string> sources_;
    const Clock::time_point start_ = Clock::now();
};

}  // namespace

int main(int argc, char** argv) try {
    Settings settings;
    CLI::App app("Checks random kernels on random shapes against the double-precision reference.");
    app.add_option("--device", settings.device, "gpu, cpu or emulated")
        ->check(CLI::IsMember({"gpu", "cpu", "emulated"}));
    app.add_option("--first", settings.first, "number of the first kernel")->check(CLI::PositiveNumber);
    app.add_option("--kernels", settings.kernels, "how many kernels")->check(CLI::PositiveNumber);
    app.add_option("--shapes", settings.shapes, "shapes and inputs a kernel")->check(CLI::Range(1, 4096));
    app.add_option("--shape", settings.only_shape, "this shape alone")->check(CLI::Range(0, 4095));
    app.add_option("--threads", settings.threads, "host threads; 0: all");
    app.add_option("--seconds", settings.seconds, "no kernel is begun after so long; 0: no limit");
    app.add_option("--json", settings.json, "writes the figures to this file too");
    CLI11_PARSE(app, argc, argv);
    Options options = Options::from_environment();
    options.disk_cache = false;
    Runtime runtime(options);
    if (settings.device == "gpu" && !runtime.has_gpu()) {
        fmt::print("no GPU\n0 passed, 0 failed, 1 skipped\n");
        return 77;
    }
    const Device device = settings.device == "gpu"   ? Device::gpu()
                          : settings.device == "cpu" ? Device::cpu()
                                                     : Device::emulated();
    return Run(runtime, device, settings).all() ? 0 : 1;
} catch (const std::exception& error) {
    fmt::print("{}\n0 passed, 1 failed, 0 skipped\n", error.what());
    return 1;
}
