#include "runtime/device_stream.hpp"

#include <utility>

#include "runtime/current_context.hpp"

namespace msda {
namespace {

// Runs a clean-up call with the context current, in a destructor: nothing is left to do when it fails.
template <class Call>
void release(const DeviceContext& context, Call call) noexcept {
    if (driver_is_gone() || context.generation() != fork_generation()) return;
    try {
        const CurrentContext current(context.driver(), context.handle());
        call(context.driver());
    } catch (const Error&) {
    }
}

}  // namespace

DeviceStream::DeviceStream(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.stream_create, &stream_, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
}

DeviceStream::~DeviceStream() {
    release(*context_, [&](const Driver& driver) { driver.stream_destroy(stream_); });
}

void DeviceStream::synchronize() const {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.stream_synchronize, stream_);
}

DeviceEvent::DeviceEvent(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.event_create, &event_, static_cast<unsigned>(CU_EVENT_DEFAULT));
}

DeviceEvent::~DeviceEvent() {
    release(*context_, [&](const Driver& driver) { driver.event_destroy(event_); });
}

void DeviceEvent::record(const DeviceStream& stream) const {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.event_record, event_, stream.handle());
}

void DeviceEvent::synchronize() const {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.event_synchronize, event_);
}

double DeviceEvent::microseconds_since(const DeviceEvent& begin) const {
    float milliseconds = 0;
    context_->driver().check(context_->driver().event_elapsed_time, &milliseconds, begin.event_, event_);
    return 1e3 * static_cast<double>(milliseconds);
}

DeviceGraph::DeviceGraph(const DeviceStream& stream, const std::function<void()>& enqueue)
    : context_(stream.context()) {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    // Relaxed: other threads may allocate and load while this one records.
    driver.check(driver.stream_begin_capture, stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED);
    CUgraph graph = nullptr;
    try {
        enqueue();
    } catch (...) {
        driver.stream_end_capture(stream.handle(), &graph);
        if (graph != nullptr) driver.graph_destroy(graph);
        throw;
    }
    driver.check(driver.stream_end_capture, stream.handle(), &graph);
    const CUresult result = driver.graph_instantiate(&graph_, graph, 0);
    driver.graph_destroy(graph);
    if (result != CUDA_SUCCESS) driver.fail(driver.graph_instantiate.name, result);
}

DeviceGraph::~DeviceGraph() {
    release(*context_, [&](const Driver& driver) { driver.graph_exec_destroy(graph_); });
}

void DeviceGraph::launch(const DeviceStream& stream) const {
    const Driver& driver = context_->driver();
    const CurrentContext current(driver, context_->handle());
    driver.check(driver.graph_launch, graph_, stream.handle());
}

}  // namespace msda
