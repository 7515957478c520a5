// The words that stand for the enums of Problem in canonical text, command options and records.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <utility>

#include "msda/error.hpp"
#include "msda/problem.hpp"

namespace msda {
namespace {

template <class T>
struct Names;

template <>
struct Names<Pass> {
    static constexpr const char* what = "pass";
    static constexpr std::array<std::string_view, 2> words = {"forward", "backward"};
};
template <>
struct Names<Type> {
    static constexpr const char* what = "type";
    static constexpr std::array<std::string_view, 5> words = {"f32", "f16", "bf16", "f64", "e4m3"};
};
template <>
struct Names<Accumulate> {
    static constexpr const char* what = "accumulator";
    static constexpr std::array<std::string_view, 4> words = {"automatic", "native", "f32", "deterministic"};
};
template <>
struct Names<Sampling> {
    static constexpr const char* what = "sampling";
    static constexpr std::array<std::string_view, 4> words = {"bilinear", "nearest", "rtdetrv2", "rtdetrv2_square"};
};
template <>
struct Names<Reference> {
    static constexpr const char* what = "reference";
    static constexpr std::array<std::string_view, 4> words = {"none", "points", "boxes", "pillars"};
};
template <>
struct Names<Specialise> {
    static constexpr const char* what = "specialisation";
    static constexpr std::array<std::string_view, 2> words = {"exact", "family"};
};

template <class T>
std::string_view word(T value) {
    return Names<T>::words.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view name(Pass v) { return word(v); }
std::string_view name(Type v) { return word(v); }
std::string_view name(Accumulate v) { return word(v); }
std::string_view name(Sampling v) { return word(v); }
std::string_view name(Reference v) { return word(v); }
std::string_view name(Specialise v) { return word(v); }

template <class T>
T parse_name(std::string_view text) {
    const auto& words = Names<T>::words;
    for (std::size_t i = 0; i < words.size(); i++)
        if (words[i] == text) return static_cast<T>(i);
    throw Error(Code::invalid_problem,
                fmt::format("unknown {} '{:.64}': expected one of {}", Names<T>::what, text, fmt::join(words, ", ")));
}
template Pass parse_name<Pass>(std::string_view);
template Type parse_name<Type>(std::string_view);
template Accumulate parse_name<Accumulate>(std::string_view);
template Sampling parse_name<Sampling>(std::string_view);
template Reference parse_name<Reference>(std::string_view);
template Specialise parse_name<Specialise>(std::string_view);

std::size_t bytes_of(Type type) {
    switch (type) {
        case Type::f64:
            return 8;
        case Type::f32:
            return 4;
        case Type::f16:
        case Type::bf16:
            return 2;
        case Type::e4m3:
            return 1;
    }
    return 0;
}

}  // namespace msda
