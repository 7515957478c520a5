// The emitted source: about fifteen lines that choose types and constants; every kernel body is a template in
// templates/.
#include "generator/emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/backward.hpp"
#include "generator/fusion.hpp"
#include "generator/geometry.hpp"
#include "generator/kernels.hpp"
#include "generator/oracle.hpp"

namespace msda {
namespace {

std::string_view device_type(Type type) {
    switch (type) {
        case Type::f32:
            return "msda::f32";
        case Type::f16:
            return "msda::f16";
        case Type::bf16:
            return "msda::bf16";
        case Type::f64:
            return "msda::f64";
        case Type::e4m3:
            return "msda::e4m3";
    }
    return "";
}

// A conditional chain "l == 0 ? a : l == 1 ? b : c": folds to a constant where l is one, to selects where it is not;
// never an array in memory.
template <class Get>
std::string chain(std::size_t count, Get get) {
    std::string text;
    for (std::size_t i = 0; i + 1 < count; i++) text += fmt::format("l == {} ? {} : ", i, get(i));
    return text + fmt::format("{}", get(count - 1));
}

std::string level_of(const Problem& p) {
    std::string text;
    std::int64_t end = 0;
    for (std::size_t l = 0; l + 1 < p.points.size(); l++) {
        end += p.points[l];
        text += fmt::format("p < {} ? {} : ", end, l);
    }
    return text + fmt::format("{}", p.points.size() - 1);
}

std::string first_point(const Problem& p) {
    std::vector<std::int64_t> first{0};
    for (const std::int64_t points : p.points) first.push_back(first.back() + points);
    return chain(first.size(), [&](std::size_t l) { return first[l]; });
}

std::string points_of(const Problem& p) {
    if (std::ranges::all_of(p.points, [&](std::int64_t points) { return points == p.points.front(); }))
        return fmt::format("{}", p.points.front());
    return chain(p.points.size(), [&](std::size_t l) { return p.points[l]; });
}

std::string traits(const Problem& p, const Config& c) {
    const Cut cut = cut_of(p, c);
    const Problem ordinary = p.pass == Pass::backward ? unfused(p) : p;
    std::string text = "struct Traits {\n";
    const auto type = [&](std::string_view name, std::string_view what) {
        text += fmt::format("    using {} = {};\n", name, what);
    };
    const auto number = [&](std::string_view name, std::int64_t value) {
        text += fmt::format("    static constexpr int {} = {};\n", name, value);
    };
    const auto flag = [&](std::string_view name, bool value) {
        text += fmt::format("    static constexpr bool {} = {};\n", name, value);
    };
    type("value_t", device_type(p.value));
    type("location_t", device_type(ordinary.location));
    type("weight_t", device_type(ordinary.weight));
    type("output_t", device_type(p.output));
    type("acc_t", p.value == Type::f64 ? "double" : "float");
    number("heads", p.heads);
    number("head_dim", p.head_dim);
    number("levels", static_cast<std::int64_t>(p.levels.size()));
    number("points", p.total_points());
    number("sampling", static_cast<int>(p.sampling));
    number("alignment", p.alignment);
    flag("wide", wide(p));
    flag("scaled", p.value == Type::e4m3);
    number("tile_width", c.tile_width);
    number("tile_height", c.tile_height);
    number("block_heads", c.heads);
    number("lanes", c.lanes);
    number("vector", c.vector);
    number("chunks", cut.chunks);
    number("slices", cut.slices);
    number("split", c.split);
    number("staging", c.staging);
    number("unroll", c.unroll);
    text += backward_traits(p, c);
    if (fused(p)) {
        type("offset_t", device_type(p.location));
        type("logit_t", device_type(p.weight));
        flag("softmax", p.softmax);
        number("reference", static_cast<int>(p.reference));
        number("reference_levels", p.reference_levels);
        number("pillars", p.pillars);
    }
    text += fmt::format("    static MSDA_DEVICE constexpr int level_of(int p) {{ return {}; }}\n", level_of(p));
    text += fmt::format("    static MSDA_DEVICE constexpr int first_point(int l) {{ return {}; }}\n", first_point(p));
    text += fmt::format("    static MSDA_DEVICE constexpr int points_of(int l) {{ return {}; }}\n", points_of(p));
    return text + "};\n";
}

std::string exact_shape(const Problem& p, const Config& c) {
    const auto [image, pixel, head] = p.strides();
    const Tiles tiles = tiles_of(p, c);
    std::string text = "struct Shape {\n";
    const auto number = [&](std::string_view name, std::int64_t value, std::string_view type = "int") {
        text += fmt::format("    MSDA_DEVICE constexpr {} {}() const {{ return {}; }}\n", type, name, value);
    };
    const std::size_t levels = p.levels.size();
    const auto table = [&](std::string_view name, std::size_t count, auto get) {
        text +=
            fmt::format("    MSDA_DEVICE constexpr int {}(int l) const {{ return {}; }}\n", name, chain(count, get));
    };
    number("stride_image", image, "msda::i64");
    number("stride_pixel", pixel, "msda::i64");
    number("stride_head", head, "msda::i64");
    number("batch", p.batch);
    number("queries", p.queries);
    number("pixels", p.pixels);
    number("tiles", tiles.total);
    table("height", levels, [&](std::size_t l) { return p.levels[l].height; });
    table("width", levels, [&](std::size_t l) { return p.levels[l].width; });
    table("start", levels, [&](std::size_t l) { return p.levels[l].start; });
    table("tile_first", levels, [&](std::size_t l) { return tiles.first.empty() ? 0 : tiles.first[l]; });
    table("tiles_across", levels, [&](std::size_t l) { return tiles.across.empty() ? 1 : tiles.across[l]; });
    if (p.pass == Pass::backward && c.scatter == scatter_owned) {
        const Ownership owned = ownership_of(p, c);
        table("owned_first", levels + 1, [&](std::size_t l) { return owned.first[l]; });
        table("owned_chunks", levels, [&](std::size_t l) { return owned.chunks[l]; });
        table("owned_plane", levels + 1, [&](std::size_t l) { return owned.plane[l]; });
    }
    return text + "};\n";
}

std::string wrapper(const Kernel& kernel, bool family) {
    std::string text = "extern \"C\" __global__ void __launch_bounds__(";
    text += kernel.min_blocks > 0 ? fmt::format("{}, {}", kernel.threads, kernel.min_blocks)
                                  : fmt::format("{}", kernel.threads);
    text += fmt::format(") {}(", kernel.name);
    std::string call;
    std::size_t i = 0;
    for (const KernelArgument& argument : kernel.arguments) {
        text += fmt::format("{}{} a{}", i ? ", " : "", argument.type, i);
        call += fmt::format(", a{}", i);
        i++;
    }
    if (family) text += fmt::format("{}const MSDA_GRID_CONSTANT Shape shape", i ? ", " : "");
    return text + fmt::format(") {{\n    {}msda::{}<Traits>(shape{});\n}}\nMSDA_ENTRY({})\n",
                              family ? "" : "constexpr Shape shape{};\n    ", kernel.function, call, kernel.name);
}

std::string source_of(const Problem& p, const Config& c, const std::vector<Kernel>& all) {
    const bool family = p.specialise == Specialise::family;
    std::string text = "// Emitted by msda-jit. The kernels are in the included files.\n";
    std::string included;
    for (const Kernel& kernel : all)
        if (included.find(kernel.file) == std::string::npos) included += fmt::format("#include \"{}\"\n", kernel.file);
    text += included + traits(p, c);
    text += family ? fmt::format("using Shape = msda::FamilyShape<{}>;\n", p.levels.size()) : exact_shape(p, c);
    for (const Kernel& kernel : all) text += wrapper(kernel, family);
    return text;
}

}  // namespace

std::string emit(const Problem& p, const Config& c) { return source_of(p, c, kernels(p, c)); }

std::string emit_oracle(const Problem& p) { return source_of(p, Config{}, oracle_kernels(p)); }

}  // namespace msda
