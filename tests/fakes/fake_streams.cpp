// Streams, captures, events and graphs of the fake driver.
#include <algorithm>

#include "tests/fakes/fake_driver_state.hpp"

namespace msda::fakes {

namespace {

bool is_legacy(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

// True while a blocking stream of the current context is captured: the legacy stream cannot be used then.
bool implicit(const FakeDriver::State& s, CUstream stream) {
    return is_legacy(stream) && std::any_of(s.streams.begin(), s.streams.end(), [&](const auto& other) {
               return other.second.capturing && other.second.blocking && other.second.context == s.current();
           });
}

void fill_plain(Driver& d) {
    d.stream_create.function = [](CUstream* stream, unsigned flags) -> CUresult {
        MSDA_FAKE("cuStreamCreate");
        if (s.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        *stream = s.make_handle<CUstream>();
        FakeStream made;
        made.context = s.current();
        made.id = ++s.next;
        made.blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
        s.streams[*stream] = made;
        return CUDA_SUCCESS;
    };
    d.stream_destroy.function = [](CUstream stream) -> CUresult {
        MSDA_FAKE("cuStreamDestroy");
        return s.streams.erase(stream) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
    d.stream_synchronize.function = [](CUstream stream) -> CUresult {
        MSDA_FAKE("cuStreamSynchronize");
        FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (known->capturing) {
            known->valid = false;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        known->finished = known->enqueued;
        return CUDA_SUCCESS;
    };
    d.stream_query.function = [](CUstream stream) -> CUresult {
        MSDA_FAKE("cuStreamQuery");
        const FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        return known->finished == known->enqueued ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
    d.stream_get_id.function = [](CUstream stream, unsigned long long* id) -> CUresult {
        MSDA_FAKE("cuStreamGetId");
        const FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *id = known->id;
        return CUDA_SUCCESS;
    };
    d.stream_wait_event.function = [](CUstream stream, CUevent, unsigned) -> CUresult {
        MSDA_FAKE("cuStreamWaitEvent");
        return s.stream_of(stream) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
    d.stream_wait_value32.function = [](CUstream stream, CUdeviceptr, cuuint32_t, unsigned) -> CUresult {
        MSDA_FAKE("cuStreamWaitValue32");
        return s.stream_of(stream) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
}

void fill_captures(Driver& d) {
    d.stream_is_capturing.function = [](CUstream stream, CUstreamCaptureStatus* status) -> CUresult {
        MSDA_FAKE("cuStreamIsCapturing");
        if (implicit(s, stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        const FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *status = !known->capturing ? CU_STREAM_CAPTURE_STATUS_NONE
                  : known->valid    ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                    : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        return CUDA_SUCCESS;
    };
    d.stream_begin_capture.function = [](CUstream stream, CUstreamCaptureMode mode) -> CUresult {
        MSDA_FAKE("cuStreamBeginCapture");
        FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (is_legacy(stream) || known->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        known->capturing = known->valid = true;
        known->mode = mode;
        known->capturer = std::this_thread::get_id();
        known->recorded.clear();
        known->recorded_modules.clear();
        return CUDA_SUCCESS;
    };
    d.stream_end_capture.function = [](CUstream stream, CUgraph* graph) -> CUresult {
        MSDA_FAKE("cuStreamEndCapture");
        FakeStream* known = s.stream_of(stream);
        *graph = nullptr;
        if (known == nullptr || !known->capturing) return CUDA_ERROR_INVALID_HANDLE;
        known->capturing = false;
        if (!known->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        *graph = s.make_handle<CUgraph>();
        s.graphs[*graph] = {known->recorded, known->recorded_modules};
        return CUDA_SUCCESS;
    };
}

void fill_graphs(Driver& d) {
    d.graph_instantiate.function = [](CUgraphExec* executable, CUgraph graph, unsigned long long) -> CUresult {
        MSDA_FAKE("cuGraphInstantiateWithFlags");
        *executable = s.make_handle<CUgraphExec>();
        s.executables[*executable] = s.graphs.at(graph);
        return CUDA_SUCCESS;
    };
    d.graph_launch.function = [](CUgraphExec executable, CUstream stream) -> CUresult {
        MSDA_FAKE("cuGraphLaunch");
        const FakeGraph& graph = s.executables.at(executable);
        FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        for (const CUmodule module : graph.modules)
            if (!s.modules.contains(module)) s.violations.emplace_back("launch of a graph whose module was unloaded");
        ++known->enqueued;
        if (!known->held) known->finished = known->enqueued;
        return CUDA_SUCCESS;
    };
    d.graph_destroy.function = [](CUgraph graph) -> CUresult {
        MSDA_FAKE("cuGraphDestroy");
        return s.graphs.erase(graph) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    d.graph_exec_destroy.function = [](CUgraphExec executable) -> CUresult {
        MSDA_FAKE("cuGraphExecDestroy");
        return s.executables.erase(executable) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
}

void fill_events(Driver& d) {
    d.event_create.function = [](CUevent* event, unsigned) -> CUresult {
        MSDA_FAKE("cuEventCreate");
        *event = s.make_handle<CUevent>();
        s.events[*event] = {};
        return CUDA_SUCCESS;
    };
    d.event_destroy.function = [](CUevent event) -> CUresult {
        MSDA_FAKE("cuEventDestroy");
        return s.events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    };
    d.event_record.function = [](CUevent event, CUstream stream) -> CUresult {
        MSDA_FAKE("cuEventRecord");
        const FakeStream* known = s.stream_of(stream);
        if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        s.events.at(event) = {known->id, known->enqueued};
        return CUDA_SUCCESS;
    };
    d.event_query.function = [](CUevent event) -> CUresult {
        MSDA_FAKE("cuEventQuery");
        if (const CUresult result = s.unsafe(); result != CUDA_SUCCESS) return result;
        const FakeEvent& point = s.events.at(event);
        for (const auto& [handle, stream] : s.streams)
            if (stream.id == point.stream && stream.finished < point.sequence) return CUDA_ERROR_NOT_READY;
        return CUDA_SUCCESS;
    };
    d.event_synchronize.function = [](CUevent event) -> CUresult {
        MSDA_FAKE("cuEventSynchronize");
        const FakeEvent& point = s.events.at(event);
        for (auto& [handle, stream] : s.streams)
            if (stream.id == point.stream) stream.finished = std::max(stream.finished, point.sequence);
        return CUDA_SUCCESS;
    };
    // Time is the number of works between the events, in milliseconds.
    d.event_elapsed_time.function = [](float* milliseconds, CUevent begin, CUevent end) -> CUresult {
        MSDA_FAKE("cuEventElapsedTime");
        *milliseconds = static_cast<float>(s.events.at(end).sequence - s.events.at(begin).sequence);
        return CUDA_SUCCESS;
    };
}

}  // namespace

void fill_streams(Driver& driver) {
    fill_plain(driver);
    fill_captures(driver);
    fill_graphs(driver);
    fill_events(driver);
}

}  // namespace msda::fakes
