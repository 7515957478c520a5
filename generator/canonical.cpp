// The one-line text of a Problem, `key=value` words in a fixed order, and its reading back.
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "msda/error.hpp"
#include "msda/problem.hpp"

namespace msda {
namespace {

std::string levels_text(const Problem& p) {
    std::string text;
    for (const Level& level : p.levels)
        text += fmt::format("{}{}x{}@{}", text.empty() ? "" : ",", level.height, level.width, level.start);
    return text;
}

std::string gradients_text(const Gradients& g) {
    std::string text;
    const auto add = [&](bool wanted, std::string_view word) {
        if (wanted) text += fmt::format("{}{}", text.empty() ? "" : ",", word);
    };
    add(g.value, "value");
    add(g.location, "location");
    add(g.weight, "weight");
    return text.empty() ? "none" : text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::int64_t integer(std::string_view text, std::string_view what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        throw Error(Code::invalid_problem, fmt::format("{}: expected an integer, got '{:.64}'", what, text));
    return value;
}

Level parse_level(std::string_view text) {
    const std::size_t x = text.find('x');
    const std::size_t at = text.find('@');
    if (x == std::string_view::npos)
        throw Error(Code::invalid_problem,
                    fmt::format("level: expected HEIGHTxWIDTH or HEIGHTxWIDTH@START, got '{:.64}'", text));
    Level level;
    level.height = integer(text.substr(0, x), "height of a level");
    level.width = integer(text.substr(x + 1, at == std::string_view::npos ? at : at - x - 1), "width of a level");
    if (at != std::string_view::npos) level.start = integer(text.substr(at + 1), "start of a level");
    return level;
}

Gradients parse_gradients(std::string_view text) {
    Gradients g{false, false, false};
    if (text == "none") return g;
    for (const std::string_view word : split(text, ',')) {
        bool* wanted = word == "value"      ? &g.value
                       : word == "location" ? &g.location
                       : word == "weight"   ? &g.weight
                                            : nullptr;
        if (wanted == nullptr || *wanted)
            throw Error(
                Code::invalid_problem,
                fmt::format("gradients: expected value, location, weight, each once, or none, got '{:.64}'", word));
        *wanted = true;
    }
    return g;
}

// The words of a canonical text, each taken exactly once.
class Words {
  public:
    explicit Words(std::string_view text) {
        if (text.size() > 1 << 20) throw Error(Code::invalid_problem, "problem text: expected at most 1 MiB");
        for (const std::string_view word : split(text, ' ')) {
            const std::size_t equals = word.find('=');
            if (equals == std::string_view::npos)
                throw Error(Code::invalid_problem, fmt::format("problem text: expected key=value, got '{:.64}'", word));
            if (!words_.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
                throw Error(Code::invalid_problem,
                            fmt::format("problem text: '{:.64}' stands twice", word.substr(0, equals)));
        }
    }
    std::string_view take(std::string_view key) {
        const auto at = words_.find(key);
        if (at == words_.end()) throw Error(Code::invalid_problem, fmt::format("problem text: '{}' is missing", key));
        const std::string_view value = at->second;
        words_.erase(at);
        return value;
    }
    std::int64_t number(std::string_view key) { return integer(take(key), key); }
    bool flag(std::string_view key) {
        const std::string_view text = take(key);
        if (text == "1" || text == "true") return true;
        if (text == "0" || text == "false") return false;
        throw Error(Code::invalid_problem, fmt::format("{}: expected 0, 1, true or false, got '{:.64}'", key, text));
    }
    void finish() const {
        if (!words_.empty())
            throw Error(Code::invalid_problem,
                        fmt::format("problem text: unknown key '{:.64}'", words_.begin()->first));
    }

  private:
    std::map<std::string_view, std::string_view> words_;
};

}  // namespace

std::string canonical(const Problem& p) {
    return fmt::format(
        "pass={} batch={} queries={} heads={} head_dim={} pixels={} levels={} points={} value={} location={} weight={} "
        "output={} "
        "sampling={} softmax={} reference={} reference_levels={} pillars={} gradients={} accumulate={} strides={} "
        "alignment={} specialise={}",
        name(p.pass), p.batch, p.queries, p.heads, p.head_dim, p.pixels, levels_text(p), fmt::join(p.points, ","),
        name(p.value), name(p.location), name(p.weight), name(p.output), name(p.sampling), p.softmax ? 1 : 0,
        name(p.reference), p.reference_levels, p.pillars, gradients_text(p.gradients), name(p.accumulate),
        fmt::join(p.value_strides, ","), p.alignment, name(p.specialise));
}

Problem parse_problem(std::string_view text) {
    Words words(text);
    Problem p;
    p.pass = parse_name<Pass>(words.take("pass"));
    p.batch = words.number("batch");
    p.queries = words.number("queries");
    p.heads = words.number("heads");
    p.head_dim = words.number("head_dim");
    p.pixels = words.number("pixels");
    for (const std::string_view level : split(words.take("levels"), ',')) p.levels.push_back(parse_level(level));
    p.points.clear();
    for (const std::string_view points : split(words.take("points"), ','))
        p.points.push_back(integer(points, "points"));
    p.value = parse_name<Type>(words.take("value"));
    p.location = parse_name<Type>(words.take("location"));
    p.weight = parse_name<Type>(words.take("weight"));
    p.output = parse_name<Type>(words.take("output"));
    p.sampling = parse_name<Sampling>(words.take("sampling"));
    p.softmax = words.flag("softmax");
    p.reference = parse_name<Reference>(words.take("reference"));
    p.reference_levels = words.number("reference_levels");
    p.pillars = words.number("pillars");
    p.gradients = parse_gradients(words.take("gradients"));
    p.accumulate = parse_name<Accumulate>(words.take("accumulate"));
    const std::vector<std::string_view> strides = split(words.take("strides"), ',');
    if (strides.size() != 3)
        throw Error(Code::invalid_problem, fmt::format("strides: expected 3 numbers, got {}", strides.size()));
    for (std::size_t i = 0; i < 3; i++) p.value_strides[i] = integer(strides[i], "strides");
    p.alignment = words.number("alignment");
    p.specialise = parse_name<Specialise>(words.take("specialise"));
    words.finish();
    const Type output = p.output;
    p = normalise(std::move(p));
    if (p.output != output)  // here f32 was written, not left out
        throw Error(Code::invalid_problem,
                    fmt::format("output type: expected the value's type {}, got {}", name(p.value), name(output)));
    return p;
}

}  // namespace msda
