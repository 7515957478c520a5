// The comparison on the GPU says what compare() says, or leaves the judgement to it: its kernels under emulation and
// through NVRTC, and what a kernel that never ran would say.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "generator/emit.hpp"
#include "runtime/compare.hpp"
#include "runtime/numbers.hpp"
#include "runtime/verify/device_comparison.hpp"
#include "tests/emulation/kernels.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/runtime/real_nvrtc.hpp"

using namespace msda;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A tensor and its reference.
struct Pair {
    Type type;
    std::vector<double> reference;
    std::vector<char> got;

    // `got`: the reference, rounded once.
    Pair(Type t, std::size_t count, unsigned seed) : type(t), reference(count) {
        std::mt19937 random(seed);
        for (double& value : reference) value = std::normal_distribution<double>()(random);
        got.resize(count * bytes_of(type));
        for (std::size_t i = 0; i < count; i++) set(i, reference[i]);
    }
    void set(std::size_t i, double value) {
        host::visit(type, [&](auto zero) {
            const auto element = host::narrow<decltype(zero)>(value);
            std::memcpy(got.data() + i * sizeof element, &element, sizeof element);
        });
    }
};

// What the kernels leave for `blocks` blocks, added up as DeviceComparison does.
struct Sum {
    double error = 0, reference = 0, counted = 0;
    double norm_error() const { return error == 0 ? 0 : std::sqrt(error) / std::sqrt(reference); }
};

Sum emulated(const Pair& pair, std::uint32_t blocks) {
    const std::int64_t warps = blocks * 8;
    const std::array<std::int64_t, 2> stretch = {static_cast<std::int64_t>(pair.reference.size()), warps};
    Step step;
    step.kernel = fmt::format("compare_{}", name(pair.type));
    step.grid = {blocks, 1, 1};
    step.threads = 256;
    step.arguments = {{Buffer::value}, {Buffer::locations}, {Buffer::output}, {Buffer::shape}};
    Plan plan;
    plan.steps = {step};
    const auto* bytes = reinterpret_cast<const std::byte*>(stretch.data());
    plan.shape.assign(bytes, bytes + sizeof stretch);
    std::vector<double> distances(static_cast<std::size_t>(warps) * 3, not_a_number);
    Tensors tensors;
    tensors.value = pair.reference.data();
    tensors.locations = pair.got.data();
    tensors.output = distances.data();
    const auto extent = [](const char* what, const auto& memory, bool writable) {
        return emulation::Extent{what, reinterpret_cast<const char*>(memory.data()), memory.size() * sizeof(memory[0]),
                                 writable};
    };
    test::emulator().run(plan, *test::emulator().compile(comparison_source()), tensors,
                         {extent("reference", pair.reference, false), extent("got", pair.got, false),
                          extent("distances", distances, true)});
    Sum sum;
    for (std::size_t i = 0; i < distances.size(); i += 3) {
        sum.error += distances[i];
        sum.reference += distances[i + 1];
        sum.counted += distances[i + 2];
    }
    return sum;
}

void check_as_on_host(const Pair& pair, std::uint32_t blocks) {
    const Sum sum = emulated(pair, blocks);
    CHECK(sum.counted == static_cast<double>(pair.reference.size()));
    CHECK(sum.norm_error() ==
          doctest::Approx(compare(pair.reference, pair.type, pair.got.data(), 1).norm_error).epsilon(1e-9));
}

}  // namespace

TEST_SUITE_BEGIN("verify");

TEST_CASE("the comparison's kernels find the host's norm, with any number of elements and blocks") {
    for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64})
        for (const std::size_t count : {1, 31, 257, 5000}) {
            Pair pair(type, count, 7);
            check_as_on_host(pair, 1);
            check_as_on_host(pair, 3);
            pair.set(count / 2, pair.reference[count / 2] + 1);
            check_as_on_host(pair, 2);
            CHECK(emulated(pair, 2).norm_error() > 1e-3);
        }
    Pair zeros(Type::f32, 100, 1);
    zeros.reference.assign(100, 0);
    for (std::size_t i = 0; i < 100; i++) zeros.set(i, 0);
    CHECK(emulated(zeros, 1).norm_error() == 0);
    zeros.set(99, 1e-30);
    CHECK(emulated(zeros, 1).norm_error() == infinity);
}

TEST_CASE("an element that is not finite, on either side, is left to the host") {
    const std::vector<std::pair<double, double>> cases = {
        {1, not_a_number}, {1, infinity}, {not_a_number, not_a_number}, {infinity, 1}};
    for (const auto& [reference, got] : cases) {
        Pair pair(Type::f32, 300, 3);
        pair.reference[299] = reference;
        pair.set(299, got);
        CHECK(emulated(pair, 1).counted == 299);
    }
}

TEST_CASE("a kernel that wrote nothing confirms nothing") {
    fakes::FakeMachine machine;  // it executes no kernel
    const DevicePlace place = DevicePlace::of(*machine.runtime, Device::gpu(0));
    DeviceComparison comparison(*machine.runtime, place);
    DeviceBuffer reference(place), got(place);
    reference.resize(80);
    got.resize(40);
    CHECK(std::isnan(comparison.norm_error(reference.data(), Type::f32, got.data(), 10)));
    CHECK(machine.driver.launches().back().kernel == "compare_f32");
    CHECK(machine.driver.violations().empty());
}

TEST_CASE("the comparison's kernels compile without spills") {
    const auto nvrtc = fakes::real_nvrtc();
    if (nvrtc == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    CompileRequest request;
    request.source = comparison_source();
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = 90;
    const Inspection inspection = inspect(request, *nvrtc);
    CHECK(inspection.kernels.size() == 4);
    for (const KernelResources& kernel : inspection.kernels) CHECK(kernel.spill_store_bytes == 0);
}

TEST_SUITE_END();
