// The text of a config: every field by name, in order, and nothing else.
#include <doctest/doctest.h>

#include <limits>

#include "tests/generator/comma_locale.hpp"
#include "tests/generator/draw.hpp"

using namespace msda;
using draw::error_of;

namespace {

constexpr std::string_view default_text =
    "tile_width=16 tile_height=0 heads=1 lanes=4 vector=16 split=1 staging=0 unroll=4 min_blocks=0 scatter=0 "
    "threads=256 cells=1024 kept=0 levels_per_pass=1";

std::string message_of(const std::string& text) {
    const auto [code, message] = error_of([&] { parse_config(text); });
    CHECK(code == Code::invalid_argument);
    return message;
}

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("the text of a config, and its reading back") {
    CHECK(canonical(Config{}) == default_text);
    CHECK(parse_config(default_text) == Config{});
    Config c;
    int value = 100000;
    for (const ConfigField& field : config_fields()) c.*field.member = value++;  // each its own: none is mixed up
    CHECK(parse_config(canonical(c)) == c);
    for (const ConfigField& field : config_fields()) {
        for (const int extreme : {std::numeric_limits<int>::min(), -1, std::numeric_limits<int>::max()}) {
            c.*field.member = extreme;
            CHECK(parse_config(canonical(c)) == c);
        }
    }
    const draw::CommaLocale comma;
    CHECK(parse_config(canonical(c)) == c);
    CHECK(canonical(Config{}) == default_text);
}

TEST_CASE("every field of Config has a name") { CHECK(config_fields().size() * sizeof(int) == sizeof(Config)); }

TEST_CASE("lesson 43: unknown, missing, doubled and malformed fields are refused by name") {
    const std::string text(default_text);
    CHECK(message_of(text + " colour=1") == "config: unknown field 'colour=1'");
    CHECK(message_of(text + " lanes") == "config: unknown field 'lanes'");
    CHECK(message_of("  " + text) == "config: unknown field ''");
    CHECK(message_of("") == "config: field 'tile_width' is missing");
    for (const ConfigField& field : config_fields()) {
        const std::string name(field.name);
        const std::string start = " " + name + "=";
        const std::string padded = " " + text + " ";
        const std::size_t at = padded.find(start);
        REQUIRE(at != std::string::npos);
        const std::size_t end = padded.find(' ', at + 1);
        const auto with = [&](const std::string& word) {
            std::string changed = padded.substr(0, at) + word + padded.substr(end);
            return changed.substr(1, changed.size() - 2);
        };
        if (at > 0) CHECK(message_of(with("")) == "config: field '" + name + "' is missing");
        CHECK(message_of(text + start + "1") == "config: field '" + name + "' stands twice");
        for (const char* bad : {"", "x", "1.5", "1,5", "0x10", "4 4", "99999999999"}) {
            const std::string message = message_of(with(start + bad));
            CHECK_MESSAGE((message.starts_with("config field " + name + ": expected an integer, got '") ||
                           message == "config: unknown field '4'"),
                          message);
        }
    }
}

TEST_CASE("any integers make a config that is refused with a sentence or can run") {
    draw::Urn urn(3);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        const Problem p = draw::any_problem(urn);
        const Silicon silicon = draw::silicon_of(urn.pick({50, 60, 75, 80, 90, 120}));
        Config c = default_config(p, silicon);
        for (const ConfigField& field : config_fields())
            if (urn.between(0, 3) == 0)
                c.*field.member = urn.pick({0, 1, 16, 32, 64, 1024, 8192, 16384, -1, std::numeric_limits<int>::min(),
                                            std::numeric_limits<int>::max()});
        refused += why_not(p, c, silicon).empty() ? 0 : 1;
    }
    CHECK(refused > 10000);
    // Each field within its limit, and their product 2^31.
    Config most;
    most.tile_width = 1024, most.tile_height = 64, most.heads = most.lanes = most.split = 32;
    CHECK(why_not(draw::detr(Pass::forward, 1, 0, Type::f32), most, {}).find("threads a block") == 0);
}

TEST_SUITE_END();
