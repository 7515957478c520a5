// Inputs for the problems: memory without slack, and locations that try to break a kernel.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "tools/cases/problems.hpp"

namespace msda::cases {
namespace {

// Calls visit(l, at) for every point: its level, and its index in (B, Q, M, ΣP).
template <class Visit>
void for_each_point(const Problem& p, Visit visit) {
    std::int64_t at = 0;
    for (std::int64_t row = 0; row < p.batch * p.queries * p.heads; row++)
        for (std::size_t l = 0; l < p.levels.size(); l++)
            for (std::int64_t point = 0; point < p.points[l]; point++) visit(l, at++);
}

// The locations that hostile scenes mix in; NaN and infinities, far out, just outside, on and just inside the border.
double hostile_coordinate(std::int64_t k, std::int64_t size) {
    const double inf = std::numeric_limits<double>::infinity(), n = static_cast<double>(size);
    const double values[] = {std::nan(""), inf, -inf,          1e30,           -1e30,    -0.5 / n,
                             0.0,          1.0, 1.0 + 0.5 / n, 1.0 - 0.25 / n, 0.25 / n, -3.0};
    return values[static_cast<std::size_t>(k) % std::size(values)];
}

}  // namespace

std::string name(Scene scene) {
    const char* names[] = {"model", "uniform", "hostile", "outside", "contended"};
    return names[static_cast<std::size_t>(scene)];
}

void SceneTensors::Free::operator()(void* memory) const { std::free(memory); }

// The end of the tensor is the end of the allocation, so that AddressSanitizer sees the byte behind it.
void* SceneTensors::allocate(std::int64_t elements, std::size_t element_bytes, std::size_t alignment) {
    if (elements == 0) return nullptr;
    const std::size_t bytes = static_cast<std::size_t>(elements) * element_bytes,
                      offset = alignment < 16 ? alignment : 0;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes + offset) != 0) throw std::bad_alloc();
    memory_.emplace_back(memory);
    void* tensor = static_cast<char*>(memory) + offset;
    std::memset(tensor, 0xff, bytes);
    return tensor;
}

const void* SceneTensors::copy_of(const void* from, std::int64_t elements, Type type) {
    void* to = allocate(elements, bytes_of(type), std::max(alignment_, bytes_of(type)));
    if (to != nullptr && from != nullptr) std::memcpy(to, from, static_cast<std::size_t>(elements) * bytes_of(type));
    return to;
}

SceneTensors::SceneTensors(const Problem& p, Scene scene, std::size_t workspace_bytes)
    : alignment_(static_cast<std::size_t>(p.alignment)) {
    const Inputs inputs = make_inputs(p, scene == Scene::uniform ? Locations::uniform : Locations::model, 11, 1);
    const Tensors made = inputs.tensors();
    const Sizes size = sizes(p);
    const std::int64_t dense = p.batch * p.pixels * p.heads * p.head_dim;
    const bool forward = p.pass == Pass::forward;
    tensors_.value = copy_of(made.value, size.value, p.value);
    tensors_.locations = copy_of(made.locations, size.locations, p.location);
    tensors_.weights = copy_of(made.weights, size.weights, p.weight);
    tensors_.scales = p.value == Type::e4m3 ? copy_of(made.scales, p.heads, Type::f32) : nullptr;
    if (forward) {
        tensors_.output = const_cast<void*>(copy_of(nullptr, size.output, p.output));
    } else {
        tensors_.grad_output = copy_of(made.grad_output, size.output, p.output);
        if (p.gradients.value) tensors_.grad_value = const_cast<void*>(copy_of(nullptr, dense, p.value));
        if (p.gradients.location)
            tensors_.grad_locations = const_cast<void*>(copy_of(nullptr, size.locations, p.location));
        if (p.gradients.weight) tensors_.grad_weights = const_cast<void*>(copy_of(nullptr, size.weights, p.weight));
    }
    tensors_.workspace = allocate(static_cast<std::int64_t>(workspace_bytes), 1, 256);
    set_locations(p, scene);
    if (scene == Scene::hostile && p.sampling == Sampling::bilinear && p.value != Type::e4m3) spoil_pixels(p);
}

void SceneTensors::set_locations(const Problem& p, Scene scene) {
    if (scene == Scene::model || scene == Scene::uniform) return;
    void* locations = const_cast<void*>(tensors_.locations);
    for_each_point(p, [&](std::size_t l, std::int64_t at) {
        for (int axis = 0; axis < 2; axis++) {
            const std::int64_t size = axis == 0 ? p.levels[l].width : p.levels[l].height, i = 2 * at + axis;
            if (scene == Scene::outside) host::write(p.location, locations, i, at % 2 == 0 ? 2.0 : -1.5);
            if (scene == Scene::contended) host::write(p.location, locations, i, 0.5 / static_cast<double>(size));
            // Every third point, one axis or both.
            if (scene == Scene::hostile && at % 3 == 0 && (at + axis) % 4 != 0)
                host::write(p.location, locations, i, hostile_coordinate(at / 3 + axis * 5, size));
        }
    });
}

// Infinity in every pixel that is no point's corner: none of it may reach a result.
void SceneTensors::spoil_pixels(const Problem& p) {
    const auto [image_stride, pixel_stride, head_stride] = p.strides();
    std::vector<bool> corner(static_cast<std::size_t>(p.batch * p.pixels * p.heads), false);
    const auto index = [&](std::int64_t b, std::int64_t pixel, std::int64_t m) {
        return static_cast<std::size_t>((b * p.pixels + pixel) * p.heads + m);
    };
    for_each_point(p, [&](std::size_t l, std::int64_t at) {
        const std::int64_t row = at / p.total_points(), m = row % p.heads, b = row / p.heads / p.queries;
        const Level& level = p.levels[l];
        double xy[2];
        for (int axis = 0; axis < 2; axis++) {
            const double v = host::read(p.location, tensors_.locations, 2 * at + axis),
                         n = static_cast<double>(axis == 0 ? level.width : level.height);
            xy[axis] = p.value == Type::f64
                           ? std::fma(v, n, -0.5)
                           : static_cast<double>(std::fma(static_cast<float>(v), static_cast<float>(n), -0.5F));
            if (!(xy[axis] > -1 && xy[axis] < n)) return;
        }
        for (int c = 0; c < 4; c++) {
            const auto x = static_cast<std::int64_t>(std::floor(xy[0])) + c % 2,
                       y = static_cast<std::int64_t>(std::floor(xy[1])) + c / 2;
            if (x >= 0 && y >= 0 && x < level.width && y < level.height)
                corner[index(b, level.start + y * level.width + x, m)] = true;
        }
    });
    for (std::int64_t b = 0; b < p.batch; b++)
        for (std::int64_t pixel = 0; pixel < p.pixels; pixel++)
            for (std::int64_t m = 0; m < p.heads; m++)
                for (std::int64_t d = 0; d < p.head_dim && !corner[index(b, pixel, m)]; d++)
                    host::write(p.value, const_cast<void*>(tensors_.value),
                                b * image_stride + pixel * pixel_stride + m * head_stride + d,
                                d % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
}

}  // namespace msda::cases
