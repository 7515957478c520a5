// The C interface: a C99 client on the CPU, and what crosses the border on a fake GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "msda/msda.h"
#include "runtime/c/handles.hpp"
#include "tests/c_api/client.h"
#include "tests/runtime/fake_machine.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

constexpr std::array<std::int64_t, 4> shapes = {4, 6, 2, 3};
constexpr std::array<std::int64_t, 1> points = {4};

msda_problem_fields fields_of_small_problem() {
    msda_problem_fields fields = MSDA_PROBLEM_FIELDS_INIT;
    fields.batch = 1;
    fields.queries = 5;
    fields.heads = 2;
    fields.head_dim = 32;
    fields.level_count = 2;
    fields.level_shapes = shapes.data();
    fields.point_count = 1;
    fields.points = points.data();
    return fields;
}

std::string text_of(const msda_problem_fields& fields) {
    msda_problem* problem = nullptr;
    const msda_status status = msda_problem_create(&fields, &problem);
    CHECK((status == MSDA_OK) == (problem != nullptr));
    const std::string text = status == MSDA_OK ? msda_problem_text(problem) : msda_error_message();
    msda_problem_destroy(problem);
    return text;
}

// A fake GPU behind a C handle.
struct FakeC {
    FakeMachine machine;
    msda_runtime runtime{std::move(machine.runtime)};

    msda_status prepare(msda_device device, const msda_prepare_options* options, msda_operator** prepared,
                        const msda_problem_fields& fields = fields_of_small_problem()) {
        msda_problem* problem = nullptr;
        REQUIRE(msda_problem_create(&fields, &problem) == MSDA_OK);
        const msda_status status = msda_prepare(&runtime, problem, device, options, prepared);
        msda_problem_destroy(problem);
        return status;
    }
};

msda_tensors c_tensors() {
    const Tensors t = some_tensors();
    return {
        sizeof(msda_tensors), t.value,      t.locations,      t.weights,      t.references,      t.scales,   t.output,
        t.grad_output,        t.grad_value, t.grad_locations, t.grad_weights, t.grad_references, t.workspace};
}

}  // namespace

TEST_SUITE_BEGIN("c_api");

TEST_CASE("a C99 client runs forward and backward and reads errors") {
    for (const char* failure : {msda_client_runs_forward(), msda_client_runs_backward(), msda_client_reads_errors()})
        CHECK(std::string(failure != nullptr ? failure : "") == "");
}

TEST_CASE("statuses are the codes of the C++ interface, each with a name") {
    CHECK(MSDA_INVALID_PROBLEM == static_cast<int>(Code::invalid_problem));
    CHECK(MSDA_INTERRUPTED == static_cast<int>(Code::interrupted));
    std::set<std::string> names;
    for (msda_status status = 0; status <= MSDA_INTERRUPTED; status++) names.insert(msda_status_name(status));
    CHECK(names.size() == MSDA_INTERRUPTED + 1);
    CHECK_FALSE(names.contains("unknown"));
    CHECK(std::string(msda_status_name(99)) == "unknown");
    CHECK(std::string(msda_version()) == version());
}

TEST_CASE("every field of a problem arrives") {
    Problem wanted = small_problem();
    CHECK(text_of(fields_of_small_problem()) == canonical(normalise(wanted)));

    msda_problem_fields f = fields_of_small_problem();
    constexpr std::array<std::int64_t, 2> starts = {6, 0}, ragged = {3, 5};
    f.batch = 3, f.queries = 7, f.heads = 6, f.head_dim = 64, f.pixels = 40;
    f.level_starts = starts.data();
    f.point_count = 2, f.points = ragged.data();
    f.value_strides[0] = 100000, f.value_strides[1] = 800, f.value_strides[2] = 128;
    f.alignment = 8, f.reference_levels = 2;
    f.pass = MSDA_BACKWARD, f.value_type = MSDA_BF16, f.location_type = MSDA_BF16, f.weight_type = MSDA_F32;
    f.sampling = MSDA_RTDETRV2, f.reference = MSDA_REFERENCE_BOXES, f.softmax = 1;
    f.gradients = MSDA_GRADIENT_VALUE | MSDA_GRADIENT_WEIGHT, f.accumulate = MSDA_DETERMINISTIC,
    f.specialise = MSDA_FAMILY;
    wanted.batch = 3, wanted.queries = 7, wanted.heads = 6, wanted.head_dim = 64, wanted.pixels = 40;
    wanted.levels = {{4, 6, 6}, {2, 3, 0}}, wanted.points = {3, 5}, wanted.value_strides = {100000, 800, 128};
    wanted.alignment = 8, wanted.reference_levels = 2;
    wanted.pass = Pass::backward, wanted.value = wanted.location = Type::bf16;
    wanted.sampling = Sampling::rtdetrv2, wanted.reference = Reference::boxes, wanted.softmax = true;
    wanted.gradients.location = false, wanted.accumulate = Accumulate::deterministic,
    wanted.specialise = Specialise::family;
    CHECK(text_of(f) == canonical(normalise(wanted)));

    f = fields_of_small_problem();
    f.value_type = MSDA_E4M3, f.output_type = MSDA_F16, f.reference = MSDA_REFERENCE_PILLARS, f.pillars = 4;
    wanted = small_problem();
    wanted.value = Type::e4m3, wanted.output = Type::f16, wanted.reference = Reference::pillars, wanted.pillars = 4;
    CHECK(text_of(f) == canonical(normalise(wanted)));
}

TEST_CASE("a problem's text is read back, sizes are its tensors'") {
    const std::string text = text_of(fields_of_small_problem());
    msda_problem* problem = nullptr;
    REQUIRE(msda_problem_parse(text.c_str(), &problem) == MSDA_OK);
    CHECK(msda_problem_text(problem) == text);
    msda_sizes s = MSDA_SIZES_INIT;
    REQUIRE(msda_problem_sizes(problem, &s) == MSDA_OK);
    CHECK(std::array{s.value, s.grad_value, s.locations, s.weights, s.output, s.references} ==
          std::array<std::int64_t, 6>{30 * 64, 30 * 64, 5 * 2 * 8 * 2, 5 * 2 * 8, 5 * 64, 0});
    msda_problem_destroy(problem);
    CHECK(msda_problem_parse("pass=forward", &problem) == MSDA_INVALID_PROBLEM);
    CHECK(std::string(msda_error_message()) == "problem text: 'batch' is missing");
    CHECK(problem == nullptr);
}

TEST_CASE("a field that does not fit is refused by name") {
    const auto message = [](auto change) {
        msda_problem_fields fields = fields_of_small_problem();
        change(fields);
        return text_of(fields);
    };
    using Fields = msda_problem_fields;
    CHECK(message([](Fields& f) { f.pass = 2; }) == "pass: expected 0 to 1, got 2");
    CHECK(message([](Fields& f) { f.value_type = -1; }) == "value_type: expected 0 to 4, got -1");
    CHECK(message([](Fields& f) { f.softmax = 2; }) == "softmax: expected 0 to 1, got 2");
    CHECK(message([](Fields& f) { f.gradients = 8; }) == "gradients: expected 0 to 7, got 8");
    CHECK(message([](Fields& f) { f.level_count = -1; }) == "count of level_shapes: expected 0 to 4096, got -1");
    CHECK(message([](Fields& f) { f.level_shapes = nullptr; }) == "level_shapes: expected 2 entries, got null");
    CHECK(message([](Fields& f) { f.point_count = 0; }) ==
          "points: expected one count for each of 2 levels, got 0 counts");
    CHECK(message([](Fields& f) { f.location_type = MSDA_F16; }) ==
          "location type: expected f32 or the value's type f32, got f16");
    CHECK(message([](Fields& f) { f.heads = 0; }) == "heads: expected at least 1, got 0");
}

TEST_CASE("structs of an older caller read as zeros, of a newer one as long as it does not use what is new") {
    msda_problem_fields older = fields_of_small_problem();
    older.struct_size = offsetof(msda_problem_fields, value_strides);
    older.alignment = 3;  // not the caller's: behind the end of its struct
    CHECK(text_of(older) == canonical(normalise(small_problem())));

    struct {
        msda_problem_fields known = fields_of_small_problem();
        std::int64_t later = 0;
    } newer;
    newer.known.struct_size = sizeof newer;
    CHECK(text_of(newer.known) == canonical(normalise(small_problem())));
    newer.later = 1;
    msda_problem* problem = nullptr;
    CHECK(msda_problem_create(&newer.known, &problem) == MSDA_UNSUPPORTED);
    CHECK(std::string(msda_error_message()).starts_with("fields: uses a field that this library ("));
    newer.known.struct_size = 0;
    CHECK(msda_problem_create(&newer.known, &problem) == MSDA_INVALID_ARGUMENT);
    CHECK(std::string(msda_error_message()).starts_with("fields.struct_size: expected the size of the struct"));
}

TEST_CASE("null handles and addresses are refused by name, queries of null are empty") {
    msda_operator* prepared = nullptr;
    const auto refusal = [](msda_status status) {
        CHECK(status == MSDA_INVALID_ARGUMENT);
        return std::string(msda_error_message());
    };
    CHECK(refusal(msda_problem_create(nullptr, nullptr)) == "problem: expected an address, got null");
    CHECK(refusal(msda_prepare(nullptr, nullptr, 0, nullptr, &prepared)) == "problem: expected an address, got null");
    CHECK(refusal(msda_launch(nullptr, nullptr, nullptr)) == "prepared: expected an address, got null");
    CHECK(std::string(msda_operator_config(nullptr)) == "");
    CHECK(msda_operator_workspace_bytes(nullptr) == 0);
    msda_operator_destroy(nullptr);
    msda_problem_destroy(nullptr);
    msda_runtime_destroy(nullptr);
}

TEST_CASE("on a GPU: prepared, described, launched on the caller's stream; the operator outlives its runtime") {
    auto c = std::make_unique<FakeC>();
    c->machine.driver.set_current(c->machine.driver.make_context(0));
    msda_operator* prepared = nullptr;
    REQUIRE(c->prepare(0, nullptr, &prepared) == MSDA_OK);
    const Operator same = c->runtime.runtime->prepare(small_problem());
    CHECK(msda_operator_problem(prepared) == canonical(same.problem()));
    CHECK(msda_operator_config(prepared) == canonical(same.config()));
    CHECK(std::string(msda_operator_config_origin(prepared)) == "heuristic");
    CHECK(msda_operator_source_digest(prepared) == same.source_digest());
    c->runtime.runtime.reset();
    CUstream stream = nullptr;
    const auto driver = c->machine.driver.started();
    driver->check(driver->stream_create, &stream, 0u);
    const msda_tensors tensors = c_tensors();
    REQUIRE(msda_launch(prepared, &tensors, stream) == MSDA_OK);
    REQUIRE(c->machine.driver.launches().size() == 1);
    CHECK(c->machine.driver.launches()[0].stream == stream);
    msda_operator_destroy(prepared);
}

TEST_CASE("tier-up: an operator runs on its family's kernel until the runtime has settled") {
    FakeMachine machine;
    Options wanted = machine.options();
    wanted.tier_up = true;
    machine.runtime = std::make_unique<Runtime>(wanted);
    machine.runtime->state().use_driver(machine.driver.started());
    machine.runtime->state().use_nvrtc(machine.nvrtc.library());
    std::atomic<bool> open{false};
    machine.nvrtc.on_compile = [&, caller = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != caller) open.wait(false);
    };
    msda_runtime runtime{std::move(machine.runtime)};
    const msda_problem_fields fields = fields_of_small_problem();
    msda_problem* problem = nullptr;
    msda_operator* prepared = nullptr;
    REQUIRE(msda_problem_create(&fields, &problem) == MSDA_OK);
    REQUIRE(msda_prepare(&runtime, problem, 0, nullptr, &prepared) == MSDA_OK);
    CHECK(msda_operator_tier(prepared) == MSDA_FAMILY);
    open = true;
    open.notify_all();
    CHECK(msda_runtime_settle(&runtime) == MSDA_OK);
    CHECK(msda_operator_tier(prepared) == MSDA_EXACT);
    CHECK(msda_operator_tier(nullptr) == MSDA_EXACT);
    msda_operator_destroy(prepared);
    msda_problem_destroy(problem);
}

TEST_CASE("a config that is given is used, and refused where it cannot run") {
    FakeC c;
    msda_operator* prepared = nullptr;
    Config config = default_config(normalise(small_problem()), Silicon());
    config.unroll = 8;
    const std::string text = canonical(config);
    msda_prepare_options options = MSDA_PREPARE_OPTIONS_INIT;
    options.config = text.c_str();
    REQUIRE(c.prepare(0, &options, &prepared) == MSDA_OK);
    CHECK(msda_operator_config(prepared) == text);
    CHECK(std::string(msda_operator_config_origin(prepared)) == "given");
    msda_operator_destroy(prepared);
    options.config = "lanes=3";
    CHECK(c.prepare(0, &options, &prepared) == MSDA_INVALID_ARGUMENT);
    CHECK(prepared == nullptr);
}

TEST_CASE("inside a capture a miss is refused and a hit is served") {
    FakeC c;
    const auto driver = c.machine.driver.started();
    c.machine.driver.set_current(c.machine.driver.make_context(0));
    CUstream stream = nullptr;
    driver->check(driver->stream_create, &stream, 0u);
    driver->check(driver->stream_begin_capture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    msda_prepare_options options = MSDA_PREPARE_OPTIONS_INIT;
    options.has_stream = 1;
    options.stream = stream;
    msda_operator* prepared = nullptr;
    CHECK(c.prepare(0, &options, &prepared) == MSDA_NOT_PREPARED);
    CHECK(c.machine.driver.capture_valid(stream));
    CUgraph graph = nullptr;
    driver->check(driver->stream_end_capture, stream, &graph);
    REQUIRE(c.prepare(0, &options, &prepared) == MSDA_OK);
    msda_operator_destroy(prepared);
    driver->check(driver->stream_begin_capture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    REQUIRE(c.prepare(0, &options, &prepared) == MSDA_OK);
    const msda_tensors tensors = c_tensors();
    CHECK(msda_launch(prepared, &tensors, stream) == MSDA_OK);
    CHECK(c.machine.driver.capture_valid(stream));
    msda_operator_destroy(prepared);
}

TEST_CASE("MSDA_CURRENT is the device of the thread's context, and an error without one") {
    FakeC c;
    c.machine.driver.set_current(nullptr);
    msda_operator* prepared = nullptr;
    CHECK(c.prepare(MSDA_CURRENT, nullptr, &prepared) == MSDA_INVALID_ARGUMENT);
    CHECK(std::string(msda_error_message()) == "device: expected a CUDA context current on this thread, got none");
    CHECK(c.prepare(-4, nullptr, &prepared) == MSDA_INVALID_ARGUMENT);
    const CUcontext context = c.machine.driver.make_context(0);
    c.machine.driver.set_current(context);
    REQUIRE(c.prepare(MSDA_CURRENT, nullptr, &prepared) == MSDA_OK);
    const msda_tensors tensors = c_tensors();
    REQUIRE(msda_launch(prepared, &tensors, nullptr) == MSDA_OK);
    CHECK(c.machine.driver.launches().back().context == context);
    CHECK(c.machine.driver.calls("cuModuleLoadDataEx") == 1);
    msda_operator* same = nullptr;
    REQUIRE(c.prepare(0, nullptr, &same) == MSDA_OK);
    CHECK(c.machine.driver.calls("cuModuleLoadDataEx") == 1);  // the same device by its number: the same operator
    msda_operator_destroy(prepared);
    msda_operator_destroy(same);
}

TEST_CASE("errors are the thread's own, with the log") {
    FakeC c;
    msda_problem* problem = nullptr;
    CHECK(msda_problem_parse("nonsense", &problem) == MSDA_INVALID_PROBLEM);
    const std::string before = msda_error_message();
    std::thread([] {
        msda_problem* other = nullptr;
        CHECK(std::string(msda_error_message()) == "");
        CHECK(msda_problem_parse("x=1", &other) == MSDA_INVALID_PROBLEM);
    }).join();
    CHECK(msda_error_message() == before);
}

TEST_CASE("options reach the runtime; warnings reach the callback") {
    const TemporaryDirectory directory;
    std::vector<std::string> warnings;
    msda_options options = MSDA_OPTIONS_INIT;
    const std::string cache = directory / "cache";
    options.cache_directory = cache.c_str();
    options.driver_library = "/nowhere/libcuda.so.1";
    options.nvrtc_library = "/nowhere/libnvrtc.so";
    options.database = "/nowhere/db.json";
    options.site_databases = "/nowhere/site:/elsewhere";
    options.packs = "/nowhere/a.pack";
    options.deterministic = MSDA_ON;
    options.tune_on_miss = MSDA_OFF;
    options.tier_up = MSDA_ON;
    options.disk_cache = MSDA_ON;
    options.cpu_threads = 3;
    options.warn = [](const char* message, void* user) {
        static_cast<std::vector<std::string>*>(user)->push_back(message);
    };
    options.user = &warnings;
    msda_runtime* runtime = nullptr;
    REQUIRE(msda_runtime_create(&options, &runtime) == MSDA_OK);
    const Options& got = runtime->runtime->state().options;
    CHECK(got.cache_directory == cache);
    CHECK(got.driver_library == options.driver_library);
    CHECK(got.nvrtc_library == options.nvrtc_library);
    CHECK(got.database == options.database);
    CHECK(got.site_databases == options.site_databases);
    CHECK(got.packs == options.packs);
    CHECK(got.deterministic);
    CHECK_FALSE(got.tune_on_miss);
    CHECK(got.tier_up);
    CHECK(got.cpu_threads == 3);
    got.warn("hello");
    CHECK(warnings == std::vector<std::string>{"hello"});
    CHECK(msda_runtime_has_gpu(runtime) == 0);
    char* text = nullptr;
    REQUIRE(msda_runtime_doctor(runtime, &text) == MSDA_OK);
    CHECK(std::string(text).find("/nowhere/libcuda.so.1") != std::string::npos);
    msda_free_text(text);
    msda_runtime_destroy(runtime);
    options.deterministic = 3;
    CHECK(msda_runtime_create(&options, &runtime) == MSDA_INVALID_ARGUMENT);
    CHECK(std::string(msda_error_message()).starts_with("options.deterministic: expected"));
}

TEST_SUITE_END();
