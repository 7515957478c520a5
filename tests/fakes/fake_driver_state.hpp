// The inside of the fake driver: objects by handle, and the rules of captures.
#pragma once

#include "tests/fakes/fake_driver.hpp"

namespace msda::fakes {

struct FakeContext {
    int device = 0;
    std::uint64_t id = 0;
};

struct FakeStream {
    CUcontext context = nullptr;
    std::uint64_t id = 0;
    bool blocking = false;
    bool capturing = false;
    bool valid = true;  // the capture
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id capturer;
    bool held = false;
    std::uint64_t enqueued = 0;
    std::uint64_t finished = 0;
    std::vector<FakeLaunch> recorded;
    std::vector<CUmodule> recorded_modules;
};

struct FakeModule {
    CUcontext context = nullptr;
    std::string image;
    // The last work of each stream that ran this module.
    std::map<std::uint64_t, std::uint64_t> last;
};

struct FakeFunction {
    CUmodule module = nullptr;
    std::string name;
    std::size_t arguments = 0;
    int most_shared = 48 << 10;
};

struct FakeEvent {
    std::uint64_t stream = 0;
    std::uint64_t sequence = 0;
};

struct FakeGraph {
    std::vector<FakeLaunch> launches;
    std::vector<CUmodule> modules;
};

struct FakeDriver::State {
    mutable std::recursive_mutex mutex;
    std::vector<FakeDevice> devices;
    int version = 0;
    bool started = false;

    std::map<std::string, int> calls;
    std::map<std::string, std::pair<int, CUresult>> armed;  // function: calls to go, result
    std::pair<int, CUresult> armed_any{0, CUDA_SUCCESS};
    std::string failed;
    std::vector<std::string> violations;
    std::vector<FakeLaunch> launches;
    int peak_modules = 0;

    std::uint64_t next = 0x1000;
    std::map<CUcontext, FakeContext> contexts;
    std::vector<CUcontext> primary;
    std::vector<int> primary_references;
    std::map<std::thread::id, std::vector<CUcontext>> stacks;
    std::map<std::thread::id, CUstreamCaptureMode> modes;
    std::map<CUstream, FakeStream> streams;
    std::map<CUmodule, FakeModule> modules;
    std::map<CUfunction, FakeFunction> functions;
    std::map<CUevent, FakeEvent> events;
    std::map<CUgraph, FakeGraph> graphs;
    std::map<CUgraphExec, FakeGraph> executables;
    std::map<CUdeviceptr, std::vector<char>> memory;
    std::map<void*, std::vector<char>> host_memory;

    template <class Handle>
    Handle make_handle() {
        return reinterpret_cast<Handle>(next += 0x10);
    }
    CUcontext current() const;
    CUcontext make_context(int device);
    // Counts the call; an armed failure's result, or success.
    CUresult enter(const char* function);
    // Of the default stream too, one for each context.
    FakeStream* stream_of(CUstream handle);
    // For calls that may wait for the device: forbidden while streams are captured, unless this thread opted out. Ends
    // the capture.
    CUresult unsafe();
    void finish_all();
    CUresult enqueue(FakeLaunch launch, CUmodule module);
};

// Of the driver whose table was made last.
FakeDriver::State& active_state();

// Parts of the table in files of their own.
void fill_memory(Driver& driver);
void fill_streams(Driver& driver);

}  // namespace msda::fakes

// Begins each function of the table: takes the machine's lock, counts the call and gives way to an armed failure.
#define MSDA_FAKE(name)                    \
    FakeDriver::State& s = active_state(); \
    const std::lock_guard lock(s.mutex);   \
    if (const CUresult armed = s.enter(name); armed != CUDA_SUCCESS) return armed
