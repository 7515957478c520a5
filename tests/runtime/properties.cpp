// Each property as a change of the inputs and what it makes of the results.
#include "tests/runtime/properties.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/compare.hpp"
#include "runtime/numbers.hpp"
#include "runtime/verify/verify.hpp"

namespace msda::test {
namespace {

// Results by tensor, widened.
struct Results {
    std::vector<std::pair<const char*, std::vector<double>>> tensors;
};

Type type_of(const Problem& p, std::string_view tensor) {
    if (tensor == "grad_locations") return p.location;
    if (tensor == "grad_weights") return p.weight;
    return tensor == "grad_value" ? p.value : p.output;
}

std::vector<double> read_all(Type type, const HostBuffer& buffer) {
    std::vector<double> all(buffer.bytes() / bytes_of(type));
    for (std::size_t i = 0; i < all.size(); i++) all[i] = host::read(type, buffer.data(), static_cast<std::int64_t>(i));
    return all;
}

// The places of an axis in a dense tensor: (outer, n, inner).
struct Axis {
    std::int64_t outer, n, inner;
};

void reverse(void* data, std::size_t element_bytes, const Axis& axis) {
    const std::size_t row = static_cast<std::size_t>(axis.inner) * element_bytes;
    std::vector<char> kept(row);
    auto* bytes = static_cast<char*>(data);
    for (std::int64_t o = 0; o < axis.outer; o++)
        for (std::int64_t i = 0; i < axis.n / 2; i++) {
            char* a = bytes + static_cast<std::size_t>(o * axis.n + i) * row;
            char* b = bytes + static_cast<std::size_t>(o * axis.n + axis.n - 1 - i) * row;
            std::memcpy(kept.data(), a, row);
            std::memcpy(a, b, row);
            std::memcpy(b, kept.data(), row);
        }
}

class Check {
  public:
    Check(const Problem& p, Locations kind, std::uint64_t seed, const Compute& compute)
        : p_(p), kind_(kind), seed_(seed), compute_(compute), base_(run([](Inputs&) {})) {}

    std::string run_all() {
        for (auto check : {&Check::additive, &Check::doubled, &Check::queries, &Check::heads})
            if (std::string why = (this->*check)(); !why.empty()) return why;
        return "";
    }

  private:
    bool forward() const { return p_.pass == Pass::forward; }

    template <class Change>
    Results run(Change change) {
        Inputs inputs = make_inputs(p_, kind_, seed_, 1);
        change(inputs);
        const Outputs outputs = make_outputs(p_);
        compute_(outputs.tensors(inputs.tensors()));
        Results results;
        const auto take = [&](const char* name, const HostBuffer& buffer) {
            if (buffer.bytes() > 0) results.tensors.emplace_back(name, read_all(type_of(p_, name), buffer));
        };
        take("output", outputs.output);
        take("grad_value", outputs.grad_value);
        take("grad_locations", outputs.grad_locations);
        take("grad_weights", outputs.grad_weights);
        return results;
    }

    // Multiplies every element of the tensor in which the results are linear by factor(i).
    template <class Factor>
    void scale(Inputs& inputs, Factor factor) const {
        HostBuffer& buffer = forward() ? inputs.value : inputs.grad_output;
        const Type type = forward() ? p_.value : p_.output;
        const auto count = static_cast<std::int64_t>(buffer.bytes() / bytes_of(type));
        for (std::int64_t i = 0; i < count; i++)
            host::write(type, buffer.data(), i, host::read(type, buffer.data(), i) * factor(i));
    }

    std::string compared(const char* property, const Results& expected, const Results& got, double allowed) const {
        for (std::size_t i = 0; i < got.tensors.size(); i++) {
            const auto& [name, numbers] = got.tensors[i];
            const Difference difference = compare(expected.tensors[i].second, Type::f64, numbers.data(), 1);
            const bool native = p_.accumulate == Accumulate::native && std::string_view(name) == "grad_value";
            const double most =
                native && bytes_of(p_.value) == 2 ? native_tolerance : allowed * tolerance(p_.pass, type_of(p_, name));
            if (!difference.within(most))
                return fmt::format("{}: {} differs by norm {:.3g}, expected at most {:.3g} (worst at element {})",
                                   property, name, difference.norm_error, most, difference.worst);
        }
        return "";
    }

    // Parts of disjoint elements, so that the sum of the parts is exact.
    std::string sum_of_parts(const char* property, const Results& a, const Results& b, std::string_view left_out) {
        Results sum = a, whole = base_;
        for (std::size_t i = 0; i < sum.tensors.size(); i++)
            for (std::size_t k = 0; k < sum.tensors[i].second.size(); k++)
                sum.tensors[i].second[k] += b.tensors[i].second[k];
        std::erase_if(sum.tensors, [&](const auto& tensor) { return tensor.first == left_out; });
        std::erase_if(whole.tensors, [&](const auto& tensor) { return tensor.first == left_out; });
        return compared(property, sum, whole, 3);
    }
    std::string additive() {
        const auto part = [&](int wanted) {
            return run([&](Inputs& inputs) { scale(inputs, [&](std::int64_t i) { return i % 3 % 2 == wanted; }); });
        };
        if (std::string why = sum_of_parts("linear in what is multiplied", part(0), part(1), ""); !why.empty())
            return why;
        const auto weights = [&](int wanted) {
            return run([&](Inputs& inputs) {
                for (std::int64_t i = 0; i < sizes(p_).weights; i++)
                    if (i % 2 != wanted) host::write(p_.weight, inputs.weights.data(), i, 0.0);
            });
        };
        // The gradient of the weights does not depend on them.
        return sum_of_parts("linear in the weights", weights(0), weights(1), "grad_weights");
    }

    std::string doubled() {
        Results twice = base_;
        for (auto& [name, numbers] : twice.tensors)
            for (double& number : numbers) number *= 2;
        return compared("doubled", twice, run([&](Inputs& inputs) { scale(inputs, [](std::int64_t) { return 2.0; }); }),
                        3);
    }

    // Inputs reversed along an axis give results reversed along it.
    std::string relabelled(const char* property, const Axis& rows, const Axis& value, bool values_too) {
        const std::int64_t points = p_.total_points(), per_row = rows.inner;
        const auto axis = [&](std::int64_t each) { return Axis{rows.outer, rows.n, per_row * each}; };
        const Results got = run([&](Inputs& inputs) {
            reverse(inputs.locations.data(), bytes_of(p_.location), axis(points * 2));
            reverse(inputs.weights.data(), bytes_of(p_.weight), axis(points));
            if (!forward()) reverse(inputs.grad_output.data(), bytes_of(p_.output), axis(p_.head_dim));
            if (values_too) reverse(inputs.value.data(), bytes_of(p_.value), value);
            if (values_too && inputs.scales.bytes() > 0) reverse(inputs.scales.data(), 4, {1, p_.heads, 1});
        });
        Results expected = base_;
        for (auto& [name, numbers] : expected.tensors) {
            const std::string_view tensor = name;
            if (tensor == "grad_value" && !values_too) continue;
            reverse(numbers.data(), sizeof(double),
                    tensor == "grad_value"       ? value
                    : tensor == "grad_locations" ? axis(points * 2)
                    : tensor == "grad_weights"   ? axis(points)
                                                 : axis(p_.head_dim));
        }
        return compared(property, expected, got, forward() ? 0 : 3);
    }
    std::string queries() { return relabelled("queries in reverse", {p_.batch, p_.queries, p_.heads}, {}, false); }
    std::string heads() {
        return relabelled("heads in reverse", {p_.batch * p_.queries, p_.heads, 1},
                          {p_.batch * p_.pixels, p_.heads, p_.head_dim}, true);
    }

    const Problem& p_;
    Locations kind_;
    std::uint64_t seed_;
    const Compute& compute_;
    Results base_;
};

}  // namespace

std::string broken_property(const Problem& problem, Locations kind, std::uint64_t seed, const Compute& compute) {
    if (problem.empty()) return "";
    return Check(problem, kind, seed, compute).run_all();
}

}  // namespace msda::test
