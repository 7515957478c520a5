// Sizes past what 16 and 32 bits count, on the CPU and under emulation: rows past 65,535, the largest pyramid in use,
// indices past 2^31 in memory of which only the pages that are touched exist.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "runtime/verify/oracle.hpp"
#include "runtime/verify/verify.hpp"

using namespace msda;

namespace {

bool emulation_works() {
    static const bool works = std::system("c++ --version > /dev/null 2>&1") == 0;
    if (!works) MESSAGE("skipped: no C++ compiler for the emulation");
    return works;
}

void check(Runtime& runtime, const Problem& problem, const Config& config, Device device) {
    const Operator op = runtime.prepare(problem, config, device);
    const DevicePlace place = DevicePlace::of(runtime, device);
    DeviceTensors tensors(place);
    Oracle oracle(runtime, place);
    const Inputs inputs = make_inputs(problem, Locations::model);
    tensors.fit(problem, op.workspace_bytes());
    tensors.upload(inputs);
    const Verification result = verify(op, tensors, oracle.compute(problem, inputs, tensors));
    INFO(canonical(problem) << " | " << result.complaint());
    CHECK(!result.verdicts.empty());
    CHECK(result.passed());
}

// Address space of the size asked for; pages come into being when they are written.
class SparseMemory {
  public:
    explicit SparseMemory(std::size_t bytes)
        : bytes_(bytes),
          data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~SparseMemory() {
        if (there()) ::munmap(data_, bytes_);
    }
    SparseMemory(const SparseMemory&) = delete;
    SparseMemory& operator=(const SparseMemory&) = delete;
    bool there() const { return data_ != MAP_FAILED; }
    void* data() const { return data_; }

  private:
    std::size_t bytes_;
    void* data_;
};

// Two images of 2x2 pixels, one head of 8 channels, one query a image on the centre of the last pixel.
Problem last_pixel(Pass pass, std::array<std::int64_t, 3> strides) {
    Problem p;
    p.pass = pass;
    p.batch = 2;
    p.queries = 1;
    p.heads = 1;
    p.head_dim = 8;
    p.levels = {{2, 2}};
    p.points = {1};
    p.value = p.weight = Type::f16;
    p.value_strides = strides;
    return normalise(p);
}

// The last pixel of the last image holds 1 to 8, all others 0: its output, and the gradient of its weight, 1 + ... + 8.
void check_last_pixel(Runtime& runtime, const Device& device, std::array<std::int64_t, 3> strides) {
    const Problem forward = last_pixel(Pass::forward, strides);
    const Problem backward = last_pixel(Pass::backward, strides);
    const std::int64_t last = strides[0] + 3 * strides[1];
    REQUIRE(last > std::int64_t{1} << 31);
    const SparseMemory value(static_cast<std::size_t>(sizes(forward).value) * 2);
    if (!value.there()) {
        MESSAGE("skipped: no address space for " << sizes(forward).value * 2 << " bytes");
        return;
    }
    for (int d = 0; d < 8; d++) host::write(Type::f16, value.data(), last + d, d + 1.0);
    alignas(256) std::array<float, 4> locations = {0.75f, 0.75f, 0.75f, 0.75f}, grad_locations{};
    alignas(256) std::array<std::uint16_t, 8 * 2> output{}, grad_output{};
    alignas(256) std::array<std::uint16_t, 2> weights{}, grad_weights{};
    alignas(256) std::array<std::uint16_t, 8 * 2 * 4> grad_value{};
    for (int i = 0; i < 2; i++) host::write(Type::f16, weights.data(), i, 1.0);
    for (int i = 0; i < 16; i++) host::write(Type::f16, grad_output.data(), i, 1.0);
    std::vector<std::byte> memory(1 << 20);
    Tensors tensors;
    tensors.value = value.data();
    tensors.locations = locations.data();
    tensors.weights = weights.data();
    tensors.output = output.data();
    tensors.grad_output = grad_output.data();
    tensors.grad_value = grad_value.data();
    tensors.grad_locations = grad_locations.data();
    tensors.grad_weights = grad_weights.data();
    tensors.workspace = memory.data() + (256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256);
    runtime.prepare(forward, device).launch(tensors);
    const Operator gradient = runtime.prepare(backward, device);
    REQUIRE(gradient.workspace_bytes() + 256 <= memory.size());
    gradient.launch(tensors);
    for (int d = 0; d < 8; d++) {
        CHECK(host::read(Type::f16, output.data(), d) == 0.0);
        CHECK(host::read(Type::f16, output.data(), 8 + d) == d + 1.0);
        CHECK(host::read(Type::f16, grad_value.data(), 7 * 8 + d) == 1.0);
    }
    CHECK(host::read(Type::f16, grad_weights.data(), 0) == 0.0);
    CHECK(host::read(Type::f16, grad_weights.data(), 1) == 36.0);
}

}  // namespace

TEST_SUITE_BEGIN("scale");

TEST_CASE("lesson 11: the last pixel is right past 2^31 elements, between images and within one") {
    Runtime runtime{Options{}};
    for (const Device device : {Device::cpu(), Device::emulated()}) {
        if (device == Device::emulated() && !emulation_works()) return;
        check_last_pixel(runtime, device, {(std::int64_t{1} << 31) + 64, 8, 8});
        check_last_pixel(runtime, device, {std::int64_t{1} << 32, std::int64_t{1} << 30, 8});
    }
}

TEST_CASE("more than 65,535 rows of images and heads") {
    Runtime runtime{Options{}};
    for (const Pass pass : {Pass::forward, Pass::backward})
        for (const auto& [batch, heads] : {std::pair<std::int64_t, std::int64_t>{8200, 8}, {1, 65600}}) {
            Problem p;
            p.pass = pass;
            p.batch = batch;
            p.queries = 1;
            p.heads = heads;
            p.head_dim = 4;
            p.levels = {{3, 2}};
            p.points = {1};
            p = normalise(p);
            Config config = default_config(p, Silicon());
            check(runtime, p, config, Device::cpu());
            if (!emulation_works()) continue;
            // The smallest blocks, since most of their threads have no query.
            config.scatter = scatter_direct;
            config.kept = config.min_blocks = 0;
            config.split = 1;
            config.tile_width = 32 / (config.heads * config.lanes);
            check(runtime, p, config, Device::emulated());
        }
}

TEST_CASE("Co-DINO ViT-L's pyramid, S = 218,240, every pixel a query") {
    Runtime runtime{Options{}};
    Problem p;
    p.heads = 1;
    p.head_dim = 4;
    p.points = {1};
    for (int level = 0; level < 5; level++) p.levels.push_back({320 >> level, 512 >> level});
    p.queries = p.pixels = 218240;
    p = normalise(p);
    REQUIRE(p.encoder_like());
    check(runtime, p, default_config(p, Silicon()), Device::cpu());
    if (emulation_works()) check(runtime, p, default_config(p, Silicon()), Device::emulated());
    p.pass = Pass::backward;
    check(runtime, p, default_config(p, Silicon()), Device::cpu());
}

TEST_SUITE_END();
