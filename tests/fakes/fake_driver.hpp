// A CUDA driver made of host memory: it counts, keeps contexts, streams and captures by the real one's rules, can fail
// any call, and executes nothing. What breaks a rule that the real driver leaves undefined is noted in violations().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "msda/config.hpp"
#include "runtime/driver.hpp"

namespace msda::fakes {

struct FakeDevice {
    std::string name = "Fake H200";
    Silicon silicon;
    std::size_t memory_bytes = std::size_t{1} << 37;
};

// One kernel or memset that was enqueued.
struct FakeLaunch {
    std::string kernel;  // empty: a memset
    std::array<unsigned, 3> grid{};
    unsigned threads = 0;
    unsigned shared_bytes = 0;
    CUstream stream = nullptr;
    CUcontext context = nullptr;
    std::vector<std::uint64_t> arguments;  // the first eight bytes of each, as many as the kernel's source declares
    std::uint64_t address = 0;             // of a memset
    std::size_t bytes = 0;                 // of a memset
    bool captured = false;
};

// One fake machine at a time in a process. Thread-safe.
class FakeDriver {
  public:
    explicit FakeDriver(std::vector<FakeDevice> devices = {FakeDevice{}}, int version = 13000);
    ~FakeDriver();
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    // The table; usable while this object lives. start_driver() has not been called on it.
    std::shared_ptr<Driver> table() const;
    // The table, started.
    std::shared_ptr<const Driver> started() const;

    // The `nth` call (1: the next) of a function ("cuModuleUnload") returns `result` and does nothing else.
    void fail(const std::string& function, int nth, CUresult result = CUDA_ERROR_UNKNOWN);
    // The `nth` call of any function from now on.
    void fail_any(int nth, CUresult result = CUDA_ERROR_UNKNOWN);
    void fail_none();
    // The function that an armed failure hit last, empty when none did.
    std::string failed() const;

    int calls(const std::string& function) const;
    int total_calls() const;
    std::set<std::string> functions_called() const;
    void forget_calls();

    int live_modules() const;
    int peak_modules() const;
    int live_allocations() const;
    int live_streams() const;
    int live_events() const;
    int primary_references(int device) const;
    std::vector<std::string> violations() const;
    std::vector<FakeLaunch> launches() const;

    // The calling thread's current context.
    CUcontext current() const;
    // Contexts as an application makes them; a destroyed handle may come back for the next one when `reuse` is set.
    CUcontext make_context(int device);
    void destroy_context(CUcontext context);
    void set_current(CUcontext context);

    // Work enqueued on a stream does not finish until finish() or a wait for it.
    void hold(CUstream stream);
    void finish(CUstream stream);

    bool capture_valid(CUstream stream) const;
    // Called for each kernel launch, outside the lock, on the launching thread.
    std::function<void(const FakeLaunch&)> on_launch;

    struct State;
    State& state() const { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

}  // namespace msda::fakes
