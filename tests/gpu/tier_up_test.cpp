// Tier-up on a GPU: both tiers compute what the reference does over changing shapes, the calls after a family's first
// do not wait for the compiler, and a captured graph replays while kernels come and go. Skips itself where there is no
// GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "runtime/device_stream.hpp"
#include "runtime/inputs.hpp"
#include "runtime/tier/tiers.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"
#include "tests/fakes/temporary_directory.hpp"
#include "tuning_db/family.hpp"

namespace msda {
namespace {

// A runtime of its own that tiers up and finds nothing compiled before, or null where there is no GPU.
struct Machine {
    fakes::TemporaryDirectory directory;
    std::unique_ptr<Runtime> runtime;
    Machine() {
        Options options = Options::from_environment();
        options.cache_directory = directory / "cache";
        options.tier_up = true;
        runtime = std::make_unique<Runtime>(options);
        if (runtime->has_gpu()) return;
        MESSAGE("skipped: no GPU");
        runtime.reset();
    }
};

Problem shape(std::int64_t image, std::int64_t queries, Pass pass, Type type) {
    Problem p;
    p.pass = pass;
    p.value = type;
    p.batch = 2;
    p.queries = queries;
    for (const std::int64_t stride : {8, 16, 32}) p.levels.push_back({image / stride, image / stride});
    return normalise(p);
}

double seconds_of(const std::function<void()>& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_SUITE("gpu") {
    TEST_CASE("tier-up: 13 image sizes and changing queries, right on both tiers, one wait a family") {
        Machine m;
        if (!m.runtime) return;
        const DevicePlace place = DevicePlace::of(*m.runtime, Device::gpu());
        DeviceTensors tensors(place);
        Oracle oracle(*m.runtime, place);
        const auto check = [&](const Operator& op) {
            const Inputs inputs = make_inputs(op.problem(), Locations::model);
            tensors.fit(op.problem(), op.workspace_bytes());
            tensors.upload(inputs);
            const Verification result = verify(op, tensors, oracle.compute(op.problem(), inputs, tensors));
            INFO(canonical(op.problem()) << " | " << result.complaint());
            CHECK(result.passed());
        };
        std::vector<Operator> ops;
        std::set<std::string> families;
        double first = 0, later = 0;
        std::int64_t queries = 300;
        for (const Type type : {Type::f32, Type::f16})
            for (const int image : {480, 512, 544, 576, 608, 640, 640, 640, 672, 704, 736, 768, 800})
                for (const Pass pass : {Pass::forward, Pass::backward}) {
                    const Problem problem = shape(image, queries += 7, pass, type);
                    const double took = seconds_of([&] { ops.push_back(m.runtime->prepare(problem)); });
                    double& longest = families.insert(family_of(problem)).second ? first : later;
                    longest = std::max(longest, took);
                    check(ops.back());
                }
        m.runtime->settle();
        for (const Operator& op : ops) {
            CHECK(op.tier() == Specialise::exact);
            check(op);
        }
        MESSAGE("prepare: " << 1e3 * first << " ms at most for the first shape of a family, " << 1e3 * later
                            << " ms at most for a later one");
        CHECK(later < first / 4);
    }

    TEST_CASE("tier-up: a captured graph gives the same bits under eviction pressure") {
        Machine m;
        if (!m.runtime) return;
        const DevicePlace place = DevicePlace::of(*m.runtime, Device::gpu());
        const DeviceStream stream(place.context);
        const Operator op = m.runtime->prepare(shape(640, 300, Pass::forward, Type::f16));
        m.runtime->settle();
        DeviceTensors tensors(place), others(place);
        tensors.fit(op.problem(), op.workspace_bytes());
        tensors.upload(make_inputs(op.problem(), Locations::model));
        const DeviceGraph graph(stream, [&] { op.launch(tensors.addresses(), stream.handle()); });
        const auto replay = [&] {
            tensors.poison();
            place.wait();
            graph.launch(stream);
            stream.synchronize();
            Outputs outputs;
            tensors.download(outputs);
            return outputs;
        };
        const Outputs before = replay();
        std::vector<Operator> ops;
        for (std::size_t i = 0; i < 2 * Tiers::exact_capacity; i++) {
            ops.push_back(m.runtime->prepare(shape(128, 10 + static_cast<std::int64_t>(i), Pass::forward, Type::f16)));
            m.runtime->settle();
            others.fit(ops.back().problem(), ops.back().workspace_bytes());
            others.upload(make_inputs(ops.back().problem(), Locations::model));
            for (int k = 0; k < 40; k++) ops.back().launch(others.addresses(), stream.handle());
            stream.synchronize();
        }
        CHECK(ops.front().tier() == Specialise::family);
        CHECK(ops.back().tier() == Specialise::exact);
        const Outputs after = replay();
        CHECK(std::memcmp(before.output.data(), after.output.data(), before.output.bytes()) == 0);
    }
}

}  // namespace msda
