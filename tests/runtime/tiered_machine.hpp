// A fake machine that tiers up, with a compiler that can be held in the background, and what its tests ask of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "generator/plan.hpp"
#include "runtime/tier/tiers.hpp"
#include "tests/runtime/fake_machine.hpp"

namespace msda::fakes {

// A machine that tiers up, and whose background compilations wait while the gate is closed.
struct Tiered : FakeMachine {
    explicit Tiered(bool open = true) : gate(open) {
        nvrtc.on_compile = [this, caller = std::this_thread::get_id()] {
            if (std::this_thread::get_id() == caller) return;
            const int nth = ++background;
            gate.wait(false);
            if (on_background) on_background(nth);
        };
        restart([](Options&) {});
    }
    // The background may be inside the compiler, which must not wait for ever.
    ~Tiered() { open(); }

    template <class Change>
    void restart(Change change) {
        Options wanted = options();
        wanted.tier_up = true;
        change(wanted);
        runtime = std::make_unique<Runtime>(wanted);
        runtime->state().use_driver(driver.started());
        runtime->state().use_nvrtc(nvrtc.library());
    }
    void open() {
        gate = true;
        gate.notify_all();
    }
    int compilations() const { return nvrtc.calls("nvrtcCompileProgram"); }
    std::shared_ptr<DeviceContext> context() { return runtime->state().context_for(0); }

    std::atomic<bool> gate;
    std::atomic<int> background{0};          // compilations that have begun there
    std::function<void(int)> on_background;  // called in the nth, once the gate is open
};

// A shape of its own for each q.
inline Operator numbered(Tiered& m, int q) { return m.runtime->prepare(small_problem(q)); }

// Arguments of the kernel launched last: a family's takes the shape as well.
inline bool last_launch_was(const Tiered& m, const Operator& op, Specialise tier) {
    const Plan exact = plan(op.problem(), op.config());
    return (m.driver.launches().back().arguments.size() == exact.steps.back().arguments.size()) ==
           (tier == Specialise::exact);
}

}  // namespace msda::fakes
