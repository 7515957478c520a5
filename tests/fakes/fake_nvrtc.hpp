// A fake NVRTC: "compiles" to an image that holds the source, so that the fake driver can find its kernels; counts, and
// fails when told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/nvrtc_search.hpp"

namespace msda::fakes {

// One at a time in a process. Thread-safe.
class FakeNvrtc {
  public:
    explicit FakeNvrtc(NvrtcInfo info = {13000, {75, 80, 86, 89, 90, 100, 120}});
    ~FakeNvrtc();
    FakeNvrtc(const FakeNvrtc&) = delete;
    FakeNvrtc& operator=(const FakeNvrtc&) = delete;

    std::shared_ptr<const Nvrtc> table() const;
    // The table as a library that was found.
    std::shared_ptr<const NvrtcLibrary> library() const;

    // The `nth` call (1: the next) of a function ("nvrtcCompileProgram") fails.
    void fail(const std::string& function, int nth, nvrtcResult result = NVRTC_ERROR_INTERNAL_ERROR);
    // The log of the next failed compilation.
    void set_log(std::string log);
    // Called inside each compilation, outside any lock.
    std::function<void()> on_compile;

    int calls(const std::string& function) const;
    int live_programs() const;
    std::vector<std::string> last_options() const;

    struct State;
    State& state() const { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

}  // namespace msda::fakes
