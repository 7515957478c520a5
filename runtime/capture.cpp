// Launches seen from outside, and the directories they leave behind.
#include "runtime/capture.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "msda/error.hpp"
#include "runtime/current_context.hpp"
#include "runtime/digest.hpp"
#include "runtime/environment.hpp"
#include "runtime/tensor_files.hpp"

namespace msda {
namespace {

namespace fs = std::filesystem;

constexpr const char* problem_file = "problem.txt";
constexpr std::size_t longest_problem = 64 << 10;

// "forward-f16-0123456789abcdef", the same for the same problem everywhere.
std::string name_of(const Problem& problem, bool tensors) {
    return fmt::format("{}-{}-{}{}", name(problem.pass), name(problem.value),
                       Digest().add(canonical(problem)).hex().substr(0, 16), tensors ? "-data" : "");
}

void copy(const DeviceContext* context, const void* from, HostBuffer& to) {
    if (to.bytes() == 0) return;
    if (context == nullptr) {
        std::memcpy(to.data(), from, to.bytes());
        return;
    }
    const Driver& driver = context->driver();
    driver.check(driver.memcpy_dtoh, to.data(), reinterpret_cast<CUdeviceptr>(from), to.bytes());
}

// The inputs of a launch that has finished. On a GPU the context must be current.
Inputs copy_inputs(const Problem& p, const Tensors& t, const DeviceContext* context) {
    const Sizes size = sizes(p);
    Inputs inputs;
    const auto get = [&](HostBuffer& to, const void* from, std::int64_t elements, Type type) {
        to = HostBuffer(static_cast<std::size_t>(elements) * bytes_of(type));
        copy(context, from, to);
    };
    get(inputs.value, t.value, size.value, p.value);
    get(inputs.locations, t.locations, size.locations, p.location);
    get(inputs.weights, t.weights, size.weights, p.weight);
    get(inputs.references, t.references, size.references, p.location);
    if (p.value == Type::e4m3) get(inputs.scales, t.scales, p.heads, Type::f32);
    if (p.pass == Pass::backward) get(inputs.grad_output, t.grad_output, size.output, p.output);
    return inputs;
}

class CapturingOperator final : public Operator::State {
  public:
    CapturingOperator(std::shared_ptr<const Operator::State> inner, std::shared_ptr<DeviceContext> context,
                      std::shared_ptr<Capture> capture)
        : State(inner->identity), inner_(std::move(inner)), context_(std::move(context)), capture_(std::move(capture)) {
        workspace_bytes = inner_->workspace_bytes;
    }

    // Behind the launch, which has checked the addresses; it writes none of its inputs.
    void launch(const Tensors& tensors, Stream stream) const override {
        inner_->launch(tensors, stream);
        if (identity.problem.empty()) return;  // nothing to tune
        if (!seen_.exchange(true)) capture_->record(identity.problem, nullptr);
        if (capture_->data() && !copied_.exchange(true)) copy_tensors(tensors, static_cast<CUstream>(stream));
    }

    Specialise tier() const noexcept override { return inner_->tier(); }

  private:
    void copy_tensors(const Tensors& tensors, CUstream stream) const noexcept try {
        if (context_ == nullptr) {
            const Inputs inputs = copy_inputs(identity.problem, tensors, nullptr);
            capture_->record(identity.problem, &inputs);
            return;
        }
        const Driver& driver = context_->driver();
        const CurrentContext current(driver, context_->handle());
        const bool recorded_now = is_capturing(driver, stream) || is_capturing(driver, CU_STREAM_LEGACY);
        if (recorded_now) {
            copied_ = false;
            return;
        }
        const RelaxedCapture relaxed(driver);
        driver.check(driver.stream_synchronize, stream);
        const Inputs inputs = copy_inputs(identity.problem, tensors, context_.get());
        capture_->record(identity.problem, &inputs);
    } catch (const std::exception& error) {
        capture_->failed(error);
    }

    const std::shared_ptr<const Operator::State> inner_;
    const std::shared_ptr<DeviceContext> context_;
    const std::shared_ptr<Capture> capture_;
    mutable std::atomic<bool> seen_ = false;
    mutable std::atomic<bool> copied_ = false;
};

void write_line(const fs::path& path, const std::string& line) {
    std::ofstream file(path, std::ios::binary);
    file << line << '\n';
    file.close();
    if (!file) throw Error(Code::io_failed, fmt::format("{}: cannot be written", path.string()));
}

std::string read_line(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line(longest_problem, '\0');
    file.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(file.gcount()));
    return line.substr(0, line.find('\n'));
}

Captured read_capture(const fs::path& directory) {
    Captured captured{directory, parse_problem(read_line(directory / problem_file)), false};
    captured.tensors = fs::exists(directory / "value.npy");
    return captured;
}

}  // namespace

std::shared_ptr<Capture> Capture::from_environment(Warnings::Sink warn) {
    const std::string data = environment_variable("MSDA_CAPTURE_DATA");
    if (!data.empty() && data != "0" && data != "1")
        throw Error(Code::invalid_argument, fmt::format("MSDA_CAPTURE_DATA: expected 0 or 1, got '{}'", data));
    const std::string directory = environment_variable("MSDA_CAPTURE");
    return directory.empty() ? nullptr : std::make_shared<Capture>(directory, data == "1", std::move(warn));
}

std::shared_ptr<const Operator::State> captured(std::shared_ptr<const Operator::State> inner,
                                                std::shared_ptr<DeviceContext> context,
                                                std::shared_ptr<Capture> capture) {
    if (capture == nullptr) return inner;
    return std::make_shared<CapturingOperator>(std::move(inner), std::move(context), std::move(capture));
}

// A directory of its own, renamed when it is complete: of two processes one comes first, and none sees half of it.
void Capture::record(const Problem& problem, const Inputs* inputs) noexcept try {
    const fs::path place = directory_ / name_of(problem, inputs != nullptr);
    if (fs::exists(place)) return;
    fs::create_directories(directory_);
    std::string unfinished = (directory_ / ".capture-XXXXXX").string();
    if (::mkdtemp(unfinished.data()) == nullptr)
        throw fs::filesystem_error("cannot make a directory", unfinished,
                                   std::error_code(errno, std::generic_category()));
    std::error_code late;
    try {
        write_line(fs::path(unfinished) / problem_file, canonical(problem));
        if (inputs != nullptr) save_inputs(unfinished, problem, *inputs);
        fs::rename(unfinished, place, late);
    } catch (...) {
        fs::remove_all(unfinished, late);
        throw;
    }
    if (!late) return;
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    if (!fs::exists(place)) throw fs::filesystem_error("cannot rename", unfinished, place, late);
} catch (const std::exception& error) {
    failed(error);
}

void Capture::failed(const std::exception& error) noexcept try {
    warnings_.once("capture", fmt::format("MSDA_CAPTURE: a launch is not captured: {}", error.what()));
} catch (...) {  // no memory for the text
}

std::vector<Captured> read_captures(const fs::path& directory, std::vector<std::string>& complaints) {
    std::error_code error;
    if (fs::exists(directory / problem_file, error)) return {read_capture(directory)};
    std::vector<Captured> captures;
    std::set<std::string> with_tensors;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        std::error_code none;
        if (!fs::exists(entry.path() / problem_file, none)) continue;
        try {
            captures.push_back(read_capture(entry.path()));
            if (captures.back().tensors) with_tensors.insert(canonical(captures.back().problem));
        } catch (const std::exception& fault) {
            complaints.push_back(fmt::format("{}: not used: {}", entry.path().string(), fault.what()));
        }
    }
    if (error) throw Error(Code::io_failed, fmt::format("cannot read {}: {}", directory.string(), error.message()));
    std::erase_if(captures,
                  [&](const Captured& one) { return !one.tensors && with_tensors.contains(canonical(one.problem)); });
    std::ranges::sort(captures, {}, &Captured::directory);
    return captures;
}

}  // namespace msda
