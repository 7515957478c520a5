// Tensors from hashes, in parallel over their rows.
#include "runtime/inputs.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/locations.hpp"
#include "runtime/numbers.hpp"
#include "runtime/parallel.hpp"
#include "runtime/random.hpp"

namespace msda {
namespace {

using std::int64_t;

constexpr int64_t grain = 4096;

HostBuffer buffer_of(int64_t elements, Type type) {
    return HostBuffer(static_cast<std::size_t>(elements) * bytes_of(type));
}

template <class Element>
void fill(HostBuffer& buffer, Type type, int64_t count, int threads, const Element& element) {
    host::visit(type, [&](auto zero) {
        using T = decltype(zero);
        T* out = static_cast<T*>(buffer.data());
        parallel_for(threads, count, grain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; i++) out[i] = host::narrow<T>(element(i));
        });
    });
}

HostBuffer make_value(const Problem& p, std::uint64_t seed, int threads) {
    const RandomStream random(seed, 1);
    const int64_t span = sizes(p).value, rows = p.batch * p.pixels * p.heads;
    HostBuffer buffer = buffer_of(span, p.value);
    if (buffer.data() == nullptr) return buffer;
    if (!p.dense()) std::memset(buffer.data(), 0xff, buffer.bytes());
    const std::array<int64_t, 3> stride = p.strides();
    host::visit(p.value, [&](auto zero) {
        using T = decltype(zero);
        T* out = static_cast<T*>(buffer.data());
        // Strides may make rows overlap, which one thread writes in order.
        parallel_for(p.dense() ? threads : 1, rows, 256, [&](int64_t begin, int64_t end, int) {
            for (int64_t row = begin; row < end; row++) {
                T* channels = out + row / p.heads / p.pixels * stride[0] + row / p.heads % p.pixels * stride[1] +
                              row % p.heads * stride[2];
                for (int64_t d = 0; d < p.head_dim; d++)
                    channels[d] = host::narrow<T>(random.normal(row * p.head_dim + d));
            }
        });
    });
    return buffer;
}

HostBuffer make_weights(const Problem& p, std::uint64_t seed, int threads) {
    const RandomStream random(seed, 2);
    HostBuffer buffer = buffer_of(sizes(p).weights, p.weight);
    if (p.softmax) {
        fill(buffer, p.weight, sizes(p).weights, threads, [&](int64_t i) { return random.normal(i); });
        return buffer;
    }
    const int64_t points = p.total_points();
    parallel_for(threads, sizes(p).weights / points, 256, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; row++) {
            double total = 0;
            for (int64_t i = 0; i < points; i++) total += random.octave(row * points + i, 4);
            for (int64_t i = row * points; i < (row + 1) * points; i++)
                host::write(p.weight, buffer.data(), i, random.octave(i, 4) / total);
        }
    });
    return buffer;
}

HostBuffer make_locations(const Problem& p, const LocationPattern& pattern, int threads) {
    HostBuffer buffer = buffer_of(sizes(p).locations, p.location);
    parallel_for(threads, p.batch * p.queries, 64, [&](int64_t begin, int64_t end, int) {
        int64_t at = begin * p.heads * p.total_points();
        for (int64_t row = begin * p.heads; row < end * p.heads; row++)
            for (std::size_t l = 0; l < p.levels.size(); l++)
                for (int64_t point = 0; point < p.points[l]; point++, at++)
                    for (int axis = 0; axis < 2; axis++)
                        host::write(
                            p.location, buffer.data(), 2 * at + axis,
                            pattern.coordinate(row / p.heads, row % p.heads, static_cast<int64_t>(l), point, at, axis));
    });
    return buffer;
}

HostBuffer make_references(const Problem& p, const LocationPattern& pattern, int threads) {
    const int64_t count = sizes(p).references;
    HostBuffer buffer = buffer_of(count, p.location);
    if (count == 0) return buffer;
    const int64_t a_query = count / (p.batch * p.queries), components = p.reference == Reference::boxes ? 4 : 2;
    fill(buffer, p.location, count, threads,
         [&](int64_t i) { return pattern.reference(i / a_query, i % a_query / components, i % components); });
    return buffer;
}

HostBuffer unwritten(int64_t elements, Type type) {
    HostBuffer buffer = buffer_of(elements, type);
    if (buffer.data() != nullptr) std::memset(buffer.data(), 0xff, buffer.bytes());
    return buffer;
}

}  // namespace

HostBuffer::HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    constexpr std::size_t alignment = 256;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
}

void HostBuffer::Free::operator()(void* memory) const noexcept { std::free(memory); }

Inputs make_inputs(const Problem& problem, Locations kind, std::uint64_t seed, int threads) {
    const int team = thread_count(threads);
    const LocationPattern pattern(problem, kind, seed);
    Inputs inputs;
    inputs.value = make_value(problem, seed, team);
    inputs.locations = make_locations(problem, pattern, team);
    inputs.weights = make_weights(problem, seed, team);
    inputs.references = make_references(problem, pattern, team);
    if (problem.value == Type::e4m3) {
        const RandomStream random(seed, 5);
        inputs.scales = buffer_of(problem.heads, Type::f32);
        fill(inputs.scales, Type::f32, problem.heads, 1, [&](int64_t i) { return random.octave(i, 3); });
    }
    if (problem.pass == Pass::backward) {
        const RandomStream random(seed, 6);
        const int64_t count = sizes(problem).output;
        inputs.grad_output = buffer_of(count, problem.output);
        fill(inputs.grad_output, problem.output, count, team, [&](int64_t i) { return random.normal(i); });
    }
    return inputs;
}

Tensors Inputs::tensors() const {
    Tensors t;
    t.value = value.data();
    t.locations = locations.data();
    t.weights = weights.data();
    t.references = references.data();
    t.scales = scales.data();
    t.grad_output = grad_output.data();
    return t;
}

Outputs make_outputs(const Problem& p) {
    Outputs outputs;
    const Sizes size = sizes(p);
    if (p.pass == Pass::forward) {
        outputs.output = unwritten(size.output, p.output);
        return outputs;
    }
    if (p.gradients.value) outputs.grad_value = unwritten(p.batch * p.pixels * p.heads * p.head_dim, p.value);
    if (p.gradients.location) {
        outputs.grad_locations = unwritten(size.locations, p.location);
        outputs.grad_references = unwritten(size.references, p.location);
    }
    if (p.gradients.weight) outputs.grad_weights = unwritten(size.weights, p.weight);
    return outputs;
}

Tensors Outputs::tensors(Tensors t) const {
    t.output = output.data();
    t.grad_value = grad_value.data();
    t.grad_locations = grad_locations.data();
    t.grad_weights = grad_weights.data();
    t.grad_references = grad_references.data();
    return t;
}

}  // namespace msda
