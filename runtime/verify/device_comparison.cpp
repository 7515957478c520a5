// One kernel a type; each warp leaves three sums, which are added up here in a fixed order.
#include "runtime/verify/device_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "generator/emit.hpp"
#include "runtime/current_context.hpp"
#include "runtime/own_kernels.hpp"

namespace msda {
namespace {

constexpr unsigned threads = 256;  // templates/compare.cuh: compare_threads
constexpr std::array types = {Type::f32, Type::f16, Type::bf16, Type::f64};

// templates/compare.cuh
struct Stretch {
    std::int64_t count, warps;
};
struct Distance {
    double error, reference, counted;
};

std::string kernel_name(Type type) { return fmt::format("compare_{}", name(type)); }

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    names.reserve(std::size(types));
    for (const Type type : types) names.push_back(kernel_name(type));
    return names;
}

}  // namespace

DeviceComparison::DeviceComparison(Runtime& runtime, const DevicePlace& place)
    : context_(place.context),
      distances_(place),
      module_(load_own_kernels(runtime, context_, "compare.cu", comparison_source(), kernel_names(), threads)) {}

double DeviceComparison::norm_error(const void* reference, Type type, const void* got, std::int64_t count) {
    const auto most = static_cast<std::int64_t>(context_->device().silicon.sm_count) * 8;
    auto blocks = static_cast<unsigned>(std::min((count + threads - 1) / threads, most));
    Stretch stretch{count, static_cast<std::int64_t>(blocks) * threads / 32};
    std::vector<Distance> distances(static_cast<std::size_t>(stretch.warps));
    distances_.resize(distances.size() * sizeof(Distance));
    distances_.fill(0xff);  // NaN where no kernel writes
    void* sums = distances_.data();
    std::array<void*, 4> arguments = {&reference, &got, &sums, &stretch};
    {
        const Driver& driver = context_->driver();
        const CurrentContext current(driver, context_->handle());
        const auto kernel = static_cast<std::size_t>(std::ranges::find(types, type) - types.begin());
        driver.check(driver.launch_kernel, module_.function(kernel), blocks, 1u, 1u, threads, 1u, 1u, 0u,
                     static_cast<CUstream>(nullptr), arguments.data(), static_cast<void**>(nullptr));
    }
    distances_.download(distances.data());
    Distance sum{};
    for (const Distance& d : distances) {
        sum.error += d.error;
        sum.reference += d.reference;
        sum.counted += d.counted;
    }
    if (!(sum.counted == static_cast<double>(count))) return std::numeric_limits<double>::quiet_NaN();
    return sum.error == 0 ? 0 : std::sqrt(sum.error) / std::sqrt(sum.reference);
}

std::string comparison_source() {
    std::string text = "// Emitted by msda-jit: distance from a reference.\n#include \"compare.cuh\"\n";
    for (const Type type : types)
        text += fmt::format(
            "extern \"C\" __global__ void __launch_bounds__(msda::compare_threads) {0}(const double* reference, const "
            "void* got, double* distances, const msda::Stretch stretch) {{\n"
            "    msda::compare<msda::{1}>(reference, got, distances, stretch);\n}}\nMSDA_ENTRY({0})\n",
            kernel_name(type), name(type));
    return text;
}

}  // namespace msda
