// Inputs for the problems: memory without slack, and locations that try to break a kernel.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "runtime/inputs.hpp"
#include "runtime/numbers.hpp"
#include "runtime/reference/row.hpp"
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
    tensors_.references = copy_of(made.references, size.references, p.location);
    tensors_.scales = p.value == Type::e4m3 ? copy_of(made.scales, p.heads, Type::f32) : nullptr;
    if (forward) {
        tensors_.output = const_cast<void*>(copy_of(nullptr, size.output, p.output));
    } else {
        tensors_.grad_output = copy_of(made.grad_output, size.output, p.output);
        if (p.gradients.value) tensors_.grad_value = const_cast<void*>(copy_of(nullptr, dense, p.value));
        if (p.gradients.location) {
            tensors_.grad_locations = const_cast<void*>(copy_of(nullptr, size.locations, p.location));
            tensors_.grad_references = const_cast<void*>(copy_of(nullptr, size.references, p.location));
        }
        if (p.gradients.weight) tensors_.grad_weights = const_cast<void*>(copy_of(nullptr, size.weights, p.weight));
    }
    tensors_.workspace = allocate(static_cast<std::int64_t>(workspace_bytes), 1, 256);
    set_locations(p, scene);
    if (scene == Scene::hostile && p.sampling == Sampling::bilinear && p.value != Type::e4m3) spoil_pixels(p);
}

void SceneTensors::set_locations(const Problem& p, Scene scene) {
    if (scene == Scene::model || scene == Scene::uniform) return;
    void* locations = const_cast<void*>(tensors_.locations);
    const bool given = p.reference == Reference::none;
    for_each_point(p, [&](std::size_t l, std::int64_t at) {
        for (int axis = 0; axis < 2; axis++) {
            const std::int64_t size = axis == 0 ? p.levels[l].width : p.levels[l].height, i = 2 * at + axis;
            if (scene == Scene::outside) host::write(p.location, locations, i, !given ? 0.0 : at % 2 == 0 ? 2.0 : -1.5);
            if (scene == Scene::contended)
                host::write(p.location, locations, i, given ? 0.5 / static_cast<double>(size) : 0.0);
            // Every third point, one axis or both.
            if (scene == Scene::hostile && at % 3 == 0 && (at + axis) % 4 != 0)
                host::write(p.location, locations, i, hostile_coordinate(at / 3 + axis * 5, size));
        }
    });
    if (!given) set_references(p, scene);
    if (p.softmax && scene == Scene::hostile) spoil_logits(p);
}

void SceneTensors::set_references(const Problem& p, Scene scene) {
    void* references = const_cast<void*>(tensors_.references);
    const std::int64_t components = p.reference == Reference::boxes ? 4 : 2, count = sizes(p).references / components;
    for (std::int64_t i = 0; i < count; i++)
        for (std::int64_t axis = 0; axis < 2; axis++) {
            const auto write = [&](double v) { host::write(p.location, references, i * components + axis, v); };
            if (scene == Scene::outside) write(i % 2 == 0 ? 2.0 : -1.5);
            if (scene == Scene::contended) write(0.5);
            if (scene == Scene::hostile && i % 7 == 3) write(hostile_coordinate(i / 7 + axis * 5, 8));
        }
    for (std::int64_t i = 5; i < count && components == 4 && scene == Scene::hostile; i += 9)
        host::write(p.location, references, 4 * i + 2 + i % 2, std::numeric_limits<double>::infinity());
}

// A weight of zero in some rows; NaN and infinite weights throughout a row in a few.
void SceneTensors::spoil_logits(const Problem& p) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    void* logits = const_cast<void*>(tensors_.weights);
    for (std::int64_t row = 0; row < p.batch * p.queries * p.heads; row++) {
        const std::int64_t first = row * p.total_points(), last = first + p.total_points() - 1;
        if (row % 3 == 0) host::write(p.weight, logits, first + row % p.total_points(), -inf);
        if (row % 11 == 5) host::write(p.weight, logits, last, std::nan(""));
        if (row % 11 == 7) host::write(p.weight, logits, first, inf);
        if (row % 11 == 9) host::write(p.weight, logits, last, 30000.0);
    }
}

// Infinity in every pixel that is no point's corner: none of it may reach a result.
void SceneTensors::spoil_pixels(const Problem& p) {
    const auto [image_stride, pixel_stride, head_stride] = p.strides();
    std::vector<bool> corner(static_cast<std::size_t>(p.batch * p.pixels * p.heads), false);
    const auto index = [&](std::int64_t b, std::int64_t pixel, std::int64_t m) {
        return static_cast<std::size_t>((b * p.pixels + pixel) * p.heads + m);
    };
    const ReferenceRow rows(p, tensors_);
    std::vector<ReferencePoint> points;
    for (std::int64_t row = 0; row < p.batch * p.queries * p.heads; row++) {
        const std::int64_t m = row % p.heads, b = row / p.heads / p.queries;
        rows.read(b, row / p.heads % p.queries, m, points);
        for (const ReferencePoint& point : points)
            for (std::size_t c = 0; c < 4; c++)
                if (point.at.valid >> c & 1u) corner[index(b, point.pixel[c], m)] = true;
    }
    for (std::int64_t b = 0; b < p.batch; b++)
        for (std::int64_t pixel = 0; pixel < p.pixels; pixel++)
            for (std::int64_t m = 0; m < p.heads; m++)
                for (std::int64_t d = 0; d < p.head_dim && !corner[index(b, pixel, m)]; d++)
                    host::write(p.value, const_cast<void*>(tensors_.value),
                                b * image_stride + pixel * pixel_stride + m * head_stride + d,
                                d % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
}

}  // namespace msda::cases
