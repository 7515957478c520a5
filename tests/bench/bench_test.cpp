// What a benchmark says of bytes, and that its kernels compile.
#include <doctest/doctest.h>

#include "generator/emit.hpp"
#include "runtime/bench/measurement.hpp"
#include "runtime/compiler.hpp"
#include "runtime/shapes.hpp"
#include "tests/runtime/real_nvrtc.hpp"

using namespace msda;

TEST_SUITE_BEGIN("bench");

TEST_CASE("gathered bytes of Deformable DETR's encoder are the 728 MB an image that the ceilings table speaks of") {
    Problem p = problem_of(model_shape("ddetr-enc"), Pass::forward, Type::f16);
    p.batch = 1;
    // 22223 queries · 8 heads · 16 points · 4 corners · 32 channels · 2 bytes
    CHECK(traffic_of(p).gather == 22223.0 * 8 * 16 * 4 * 64);
    CHECK(traffic_of(p).scatter == 0);
    p.pass = Pass::backward;
    CHECK(traffic_of(p).scatter == traffic_of(p).gather);
    p.gradients = {true, false, false};
    CHECK(traffic_of(p).gather == 0);
    p.gradients = {false, true, true};
    CHECK(traffic_of(p).scatter == 0);
    CHECK(traffic_of(p).gather > 0);
}

TEST_CASE("compulsory bytes are each tensor once") {
    Problem p;
    p.queries = 3;
    p.heads = 2;
    p.head_dim = 4;
    p.levels = {{5, 5}};
    p.points = {2};
    p = normalise(p);
    const double value = 25 * 2 * 4 * 4, locations = 3 * 2 * 2 * 2 * 4, weights = 3 * 2 * 2 * 4, output = 3 * 2 * 4 * 4;
    CHECK(traffic_of(p).compulsory == value + locations + weights + output);
    p.pass = Pass::backward;
    CHECK(traffic_of(p).compulsory == 2 * (value + locations + weights) + output);
}

TEST_CASE("nearest sampling reads one row a point, and an empty problem none") {
    Problem p = problem_of(model_shape("ddetr-dec"), Pass::forward, Type::f32);
    const double bilinear = traffic_of(p).gather;
    p.sampling = Sampling::nearest;
    CHECK(traffic_of(p).gather == bilinear / 4);
    p.batch = 0;
    CHECK(traffic_of(p).gather == 0);
}

TEST_CASE("the ceilings' kernels compile, and their reds are hardware vectors") {
    const auto nvrtc = fakes::real_nvrtc();
    if (nvrtc == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    CompileRequest request;
    request.source = ceilings_source();
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = 90;
    const Inspection inspection = inspect(request, *nvrtc);
    CHECK(inspection.kernels.size() == 6);
    for (const KernelResources& kernel : inspection.kernels) CHECK(kernel.spill_store_bytes == 0);
    CHECK(inspection.ptx.find("red.global.add.v4.f32") != std::string::npos);
    CHECK(inspection.ptx.find("atom.") == std::string::npos);
}

TEST_CASE("a measurement on the host verifies and times, cold and warm as asked") {
    Options options;
    options.disk_cache = false;
    Runtime runtime{options};
    Problem p = problem_of(model_shape("ddetr-dec"), Pass::forward, Type::f32);
    p.levels = {{6, 7}};
    p.points = {2};
    p.pixels = 0;
    p = normalise(p);
    const Operator op = runtime.prepare(p, Device::cpu());
    Measurer measurer(runtime, DevicePlace::of(runtime, Device::cpu()));
    MeasureSettings settings;
    settings.warm = false;
    settings.timing.most_batches = 5;
    const Measurement m = measurer.measure(op, make_inputs(p, Locations::model), settings);
    REQUIRE(m.cold);
    CHECK(m.cold->median_us > 0);
    CHECK_FALSE(m.warm);
    REQUIRE(m.verification);
    CHECK(m.verification->passed());
    CHECK_FALSE(m.host_us);
}

TEST_SUITE_END();
