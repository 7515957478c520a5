#include "tests/fakes/fake_driver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/fakes/fake_driver_state.hpp"

namespace msda::fakes {

CUcontext FakeDriver::State::current() const {
    const auto stack = stacks.find(std::this_thread::get_id());
    return stack == stacks.end() || stack->second.empty() ? nullptr : stack->second.back();
}

CUcontext FakeDriver::State::make_context(int device) {
    const auto context = make_handle<CUcontext>();
    contexts[context] = {device, ++next};
    return context;
}

CUresult FakeDriver::State::enter(const char* function) {
    ++calls[function];
    if (const auto armed_one = armed.find(function); armed_one != armed.end() && --armed_one->second.first == 0) {
        const CUresult result = armed_one->second.second;
        armed.erase(armed_one);
        failed = function;
        return result;
    }
    if (armed_any.first > 0 && --armed_any.first == 0) {
        failed = function;
        return armed_any.second;
    }
    return CUDA_SUCCESS;
}

FakeStream* FakeDriver::State::stream_of(CUstream handle) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        // Default streams come into being when used; one for each context, and for each thread.
        std::uint64_t name = reinterpret_cast<std::uint64_t>(current()) << 8;
        if (handle == CU_STREAM_PER_THREAD)
            name += 1 + (std::hash<std::thread::id>{}(std::this_thread::get_id()) << 32);
        FakeStream& stream = streams[reinterpret_cast<CUstream>(name)];
        if (stream.id == 0) {
            stream.context = current();
            stream.id = ++next;
            stream.blocking = true;
        }
        return &stream;
    }
    const auto found = streams.find(handle);
    if (found == streams.end()) {
        violations.push_back(
            fmt::format("use of stream {:#x}, which does not exist", reinterpret_cast<std::uint64_t>(handle)));
        return nullptr;
    }
    return &found->second;
}

CUresult FakeDriver::State::unsafe() {
    const auto self = std::this_thread::get_id();
    const auto mode = modes.find(self);
    if (mode != modes.end() && mode->second == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (auto& [handle, stream] : streams) {
        if (!stream.capturing || stream.mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        if (stream.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && stream.capturer != self) continue;
        stream.valid = false;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

void FakeDriver::State::finish_all() {
    for (auto& [handle, stream] : streams) stream.finished = stream.enqueued;
}

CUresult FakeDriver::State::enqueue(FakeLaunch launch, CUmodule module) {
    FakeStream* stream = stream_of(launch.stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->context != current()) return CUDA_ERROR_INVALID_CONTEXT;
    launch.context = current();
    launch.captured = stream->capturing;
    launches.push_back(launch);
    if (stream->capturing) {
        stream->recorded.push_back(launch);
        if (module != nullptr) stream->recorded_modules.push_back(module);
        return CUDA_SUCCESS;
    }
    ++stream->enqueued;
    if (!stream->held) stream->finished = stream->enqueued;
    if (module != nullptr) modules[module].last[stream->id] = stream->enqueued;
    return CUDA_SUCCESS;
}

FakeDriver::FakeDriver(std::vector<FakeDevice> devices, int version) : state_(std::make_unique<State>()) {
    state_->devices = std::move(devices);
    state_->version = version;
    state_->primary.resize(state_->devices.size());
    state_->primary_references.resize(state_->devices.size());
}

std::shared_ptr<const Driver> FakeDriver::started() const {
    auto driver = table();
    start_driver(*driver);
    return driver;
}

void FakeDriver::fail(const std::string& function, int nth, CUresult result) {
    const std::lock_guard lock(state_->mutex);
    state_->armed[function] = {nth, result};
    state_->failed.clear();
}

void FakeDriver::fail_any(int nth, CUresult result) {
    const std::lock_guard lock(state_->mutex);
    state_->armed_any = {nth, result};
    state_->failed.clear();
}

void FakeDriver::fail_none() {
    const std::lock_guard lock(state_->mutex);
    state_->armed.clear();
    state_->armed_any = {0, CUDA_SUCCESS};
}

std::string FakeDriver::failed() const {
    const std::lock_guard lock(state_->mutex);
    return state_->failed;
}

int FakeDriver::calls(const std::string& function) const {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->calls.find(function);
    return found == state_->calls.end() ? 0 : found->second;
}

int FakeDriver::total_calls() const {
    const std::lock_guard lock(state_->mutex);
    int total = 0;
    for (const auto& [function, count] : state_->calls) total += count;
    return total;
}

std::set<std::string> FakeDriver::functions_called() const {
    const std::lock_guard lock(state_->mutex);
    std::set<std::string> names;
    for (const auto& [function, count] : state_->calls) names.insert(function);
    return names;
}

void FakeDriver::forget_calls() {
    const std::lock_guard lock(state_->mutex);
    state_->calls.clear();
    state_->launches.clear();
}

int FakeDriver::live_modules() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<int>(state_->modules.size());
}

int FakeDriver::peak_modules() const {
    const std::lock_guard lock(state_->mutex);
    return state_->peak_modules;
}

int FakeDriver::live_allocations() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<int>(state_->memory.size() + state_->host_memory.size());
}

int FakeDriver::live_streams() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<int>(std::count_if(state_->streams.begin(), state_->streams.end(),
                                          [](const auto& stream) { return !stream.second.blocking; }));
}

int FakeDriver::live_events() const {
    const std::lock_guard lock(state_->mutex);
    return static_cast<int>(state_->events.size());
}

int FakeDriver::primary_references(int device) const {
    const std::lock_guard lock(state_->mutex);
    return state_->primary_references.at(static_cast<std::size_t>(device));
}

std::vector<std::string> FakeDriver::violations() const {
    const std::lock_guard lock(state_->mutex);
    return state_->violations;
}

std::vector<FakeLaunch> FakeDriver::launches() const {
    const std::lock_guard lock(state_->mutex);
    return state_->launches;
}

CUcontext FakeDriver::current() const {
    const std::lock_guard lock(state_->mutex);
    return state_->current();
}

CUcontext FakeDriver::make_context(int device) {
    const std::lock_guard lock(state_->mutex);
    return state_->make_context(device);
}

void FakeDriver::destroy_context(CUcontext context) {
    const std::lock_guard lock(state_->mutex);
    state_->contexts.erase(context);
    std::erase_if(state_->modules, [&](const auto& module) { return module.second.context == context; });
    for (auto& [thread, stack] : state_->stacks) std::erase(stack, context);
}

void FakeDriver::set_current(CUcontext context) {
    const std::lock_guard lock(state_->mutex);
    auto& stack = state_->stacks[std::this_thread::get_id()];
    stack.clear();
    if (context != nullptr) stack.push_back(context);
}

void FakeDriver::hold(CUstream stream) {
    const std::lock_guard lock(state_->mutex);
    if (FakeStream* held = state_->stream_of(stream)) held->held = true;
}

void FakeDriver::finish(CUstream stream) {
    const std::lock_guard lock(state_->mutex);
    if (FakeStream* done = state_->stream_of(stream)) done->finished = done->enqueued;
}

bool FakeDriver::capture_valid(CUstream stream) const {
    const std::lock_guard lock(state_->mutex);
    const FakeStream* captured = state_->stream_of(stream);
    return captured != nullptr && captured->capturing && captured->valid;
}

}  // namespace msda::fakes
