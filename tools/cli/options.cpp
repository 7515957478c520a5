// From option texts to normalised problems.
#include "tools/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/shapes.hpp"
#include "tools/cli/numbers.hpp"

namespace msda::cli {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();

// A list that one command takes whole and another only with one entry.
std::vector<std::string> words(const std::string& option, const std::string& text, bool many) {
    std::vector<std::string> parts = split_list(text);
    if (parts.empty()) throw Error(Code::invalid_argument, fmt::format("{}: expected a name, got nothing", option));
    if (!many && parts.size() > 1)
        throw Error(Code::invalid_argument,
                    fmt::format("{}: expected one name, got {} ('{}')", option, parts.size(), text.substr(0, 64)));
    return parts;
}

Gradients parse_gradients(const std::string& text) {
    Gradients wanted{false, false, false};
    for (const std::string& word : split_list(text)) {
        if (word == "value")
            wanted.value = true;
        else if (word == "locations" || word == "location")
            wanted.location = true;
        else if (word == "weights" || word == "weight")
            wanted.weight = true;
        else
            throw Error(Code::invalid_argument,
                        fmt::format("--grads: expected some of value,locations,weights, got '{}'", word.substr(0, 64)));
    }
    if (!wanted.value && !wanted.location && !wanted.weight)
        throw Error(Code::invalid_argument, "--grads: expected some of value,locations,weights, got nothing");
    return wanted;
}

std::vector<std::int64_t> parse_points(const std::string& text) {
    std::vector<std::int64_t> points;
    for (const std::string& part : split_list(text)) points.push_back(parse_integer("--points", part, 1, 65536));
    return points;
}

std::array<std::int64_t, 3> parse_strides(const std::string& text) {
    const std::vector<std::string> parts = split_list(text);
    if (parts.size() != 3)
        throw Error(Code::invalid_argument, fmt::format("--value-strides: expected three numbers (elements between "
                                                        "images, pixels, heads), got {}",
                                                        parts.size()));
    std::array<std::int64_t, 3> strides{};
    for (std::size_t i = 0; i < 3; i++)
        strides[i] = parse_integer("--value-strides", parts[i], 0, std::int64_t{1} << 60);
    return strides;
}

// True when every level has the same number of points.
bool even(const std::vector<std::int64_t>& points) {
    return std::ranges::all_of(points, [&](std::int64_t count) { return count == points.front(); });
}

}  // namespace

std::vector<Level> parse_levels(std::string_view text) {
    std::vector<Level> levels;
    for (const std::string& part : split_list(text)) {
        const std::size_t x = part.find('x'), at = part.find('@');
        if (x == std::string::npos || (at != std::string::npos && at < x))
            throw Error(Code::invalid_argument,
                        fmt::format("--levels: expected HEIGHTxWIDTH[@START],..., got '{}'", part.substr(0, 64)));
        const std::size_t width_end = at == std::string::npos ? part.size() : at;
        Level level;
        level.height = parse_integer("--levels height", std::string_view(part).substr(0, x), 1, 1 << 24);
        level.width =
            parse_integer("--levels width", std::string_view(part).substr(x + 1, width_end - x - 1), 1, 1 << 24);
        if (at != std::string::npos)
            level.start = parse_integer("--levels start", std::string_view(part).substr(at + 1), 0, largest);
        levels.push_back(level);
    }
    if (levels.empty()) throw Error(Code::invalid_argument, "--levels: expected HEIGHTxWIDTH,..., got nothing");
    return levels;
}

// One combination of the lists.
struct ProblemOptions::Variant {
    Type type;
    Pass pass;
    Accumulate accumulate;
};

void ProblemOptions::add(CLI::App& app, bool many) {
    app_ = &app;
    many_ = many;
    const std::string list = many ? ", or several: a,b" : "";
    const std::string group = "Problem";
    const auto text = [&](const char* name, std::string& target, const std::string& help) {
        return app.add_option(name, target, help)->group(group)->type_name("TEXT");
    };
    const auto number = [&](const char* name, std::int64_t& target, std::int64_t lowest, std::int64_t highest,
                            const std::string& help) {
        return add_integer(app, name, target, lowest, highest, help)->group(group);
    };
    auto* shape = text("--shape", shape_, "a shipped shape (msda shapes)" + list);
    auto* problem = text("--problem", text_, "a problem as one canonical line, as --json prints it")->excludes(shape);
    if (many)
        app.add_flag("--all-shapes", all_shapes_, "every shipped shape")
            ->group(group)
            ->excludes(shape)
            ->excludes(problem);
    number("--batch", batch_, 0, largest, "B; default 1, or the shape's");
    number("--queries", queries_, 0, largest, "Q");
    number("--heads", heads_, 1, 1 << 20, "M; default 8");
    number("--head-dim", head_dim_, 1, 1 << 20, "D; default 32");
    number("--pixels", pixels_, 1, largest, "S; default: the end of the last level");
    text("--levels", levels_, "HEIGHTxWIDTH[@START],... in memory order");
    text("--points", points_, "points a level: 4, or one count a level: 3,6,3");
    text("--dtype", dtype_, "value type: f32, f16, bf16, f64, e4m3; default f32" + list);
    text("--location-dtype", location_, "location type; default f32 (f64 for f64 values)");
    text("--weight-dtype", weight_, "weight type; default the value's");
    text("--output-dtype", output_, "output type: f16 or bf16 for e4m3 values, else the value's");
    text("--pass", pass_, "forward or backward" + list);
    text("--accumulate", accumulate_, "grad_value sums: automatic, native, f32, deterministic" + list);
    text("--grads", gradients_, "gradients wanted: some of value,locations,weights; default all");
    text("--sampling", sampling_, "bilinear, nearest, rtdetrv2, rtdetrv2_square; default the shape's or bilinear");
    app.add_flag("--softmax", softmax_, "weights are logits; softmax inside the kernel")->group(group);
    text("--reference", reference_, "none, points, boxes, pillars: locations are offsets from references");
    number("--reference-levels", reference_levels_, 1, 4096, "references a query: 1 or L; default L");
    number("--pillars", pillars_, 1, 65536, "Z, with --reference pillars");
    text("--value-strides", strides_, "elements between images, pixels, heads of value; default dense");
    number("--alignment", alignment_, 1, 16, "bytes, a power of two up to 16; default 16");
    text("--specialise", specialise_, "exact or family (levels and Q as launch arguments)");
}

void ProblemOptions::override_numbers(Problem& p, bool named) const {
    if (!levels_.empty()) {
        const bool encoder = named && p.encoder_like();
        p.levels = parse_levels(levels_);
        p.pixels = 0;
        if (points_.empty() && p.points.size() != p.levels.size() && even(p.points)) p.points.resize(1);
        if (encoder && queries_ < 0) {  // an encoder's queries are its pixels
            p.queries = 0;
            for (const Level& level : p.levels) p.queries += level.height * level.width;
        }
    }
    if (batch_ >= 0) p.batch = batch_;
    if (queries_ >= 0) p.queries = queries_;
    if (heads_ >= 0) p.heads = heads_;
    if (head_dim_ >= 0) p.head_dim = head_dim_;
    if (pixels_ >= 0) p.pixels = pixels_;
    if (!points_.empty()) p.points = parse_points(points_);
    if (!strides_.empty()) p.value_strides = parse_strides(strides_);
    if (alignment_ >= 0) p.alignment = alignment_;
}

void ProblemOptions::override_kinds(Problem& p) const {
    if (!location_.empty()) p.location = parse_name<Type>(location_);
    if (!weight_.empty()) p.weight = parse_name<Type>(weight_);
    if (!output_.empty()) p.output = parse_name<Type>(output_);
    if (!gradients_.empty()) p.gradients = parse_gradients(gradients_);
    if (!sampling_.empty()) p.sampling = parse_name<Sampling>(sampling_);
    if (softmax_) p.softmax = true;
    if (!specialise_.empty()) p.specialise = parse_name<Specialise>(specialise_);
    if (!reference_.empty()) p.reference = parse_name<Reference>(reference_);
    if (p.reference == Reference::points || p.reference == Reference::boxes)
        p.reference_levels = reference_levels_ >= 0 ? reference_levels_ : static_cast<std::int64_t>(p.levels.size());
    else if (reference_levels_ >= 0)
        p.reference_levels = reference_levels_;  // refused by normalise, in the words of the problem's rules
    if (pillars_ >= 0) p.pillars = pillars_;
}

Problem ProblemOptions::base(const std::string& shape, const Variant& variant) const {
    Problem p;
    if (!shape.empty()) {
        p = problem_of(model_shape(shape), variant.pass, variant.type);
    } else {
        if (levels_.empty() || queries_ < 0)
            throw Error(Code::invalid_argument,
                        fmt::format("expected --shape NAME (msda shapes lists them), or --levels "
                                    "and --queries; got no {}",
                                    levels_.empty() ? "--levels" : "--queries"));
        p.pass = variant.pass;
        p.value = variant.type;
        p.output = variant.type == Type::e4m3 ? Type::f16 : variant.type;
        p.location = variant.type == Type::f64 ? Type::f64 : Type::f32;
        p.weight = p.output;
    }
    if (variant.pass == Pass::backward) p.accumulate = variant.accumulate;
    override_numbers(p, !shape.empty());
    override_kinds(p);
    p = normalise(p);
    if (!output_.empty() && p.output != parse_name<Type>(output_))  // f32 is what normalise() takes for not given
        throw Error(Code::invalid_problem,
                    fmt::format("output type: expected the value's type {}, got {}", name(p.value), output_));
    return p;
}

std::vector<NamedProblem> ProblemOptions::problems() const {
    if (!text_.empty()) {
        for (const char* other : {"--batch", "--queries", "--heads", "--levels", "--dtype", "--pass", "--accumulate"})
            if (app_->count(other) != 0)
                throw Error(Code::invalid_argument, fmt::format("--problem says all: expected no {}", other));
        return {{"custom", normalise(parse_problem(text_))}};
    }
    std::vector<std::string> shapes{""};
    if (all_shapes_) {
        shapes.clear();
        for (const ModelShape& shape : model_shapes()) shapes.emplace_back(shape.id);
    } else if (!shape_.empty()) {
        shapes = words("--shape", shape_, many_);
    }
    std::vector<Variant> variants;
    for (const std::string& type : words("--dtype", dtype_, many_))
        for (const std::string& pass : words("--pass", pass_, many_)) {
            bool first = true;
            for (const std::string& accumulate : words("--accumulate", accumulate_, many_)) {
                const Variant variant{parse_name<Type>(type), parse_name<Pass>(pass),
                                      parse_name<Accumulate>(accumulate)};
                if (first || variant.pass == Pass::backward) variants.push_back(variant);
                first = false;
            }
        }
    std::vector<NamedProblem> all;
    for (const std::string& shape : shapes)
        for (const Variant& variant : variants) all.push_back({shape.empty() ? "custom" : shape, base(shape, variant)});
    return all;
}

NamedProblem ProblemOptions::problem() const { return problems().front(); }

}  // namespace msda::cli
