// The one-line text of a problem: reads back as it was written, in any locale, and refuses everything else.
#include <doctest/doctest.h>

#include <set>

#include "tests/generator/comma_locale.hpp"
#include "tests/generator/draw.hpp"

using namespace msda;
using draw::error_of;

namespace {

constexpr std::string_view encoder_text =
    "pass=forward batch=2 queries=22223 heads=8 head_dim=32 pixels=22223 "
    "levels=100x167@0,50x84@16700,25x42@20900,13x21@21950 points=4,4,4,4 value=f16 location=f32 weight=f16 output=f16 "
    "sampling=bilinear softmax=0 reference=none reference_levels=0 pillars=0 gradients=value,location,weight "
    "accumulate=automatic strides=0,0,0 alignment=16 specialise=exact";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string message_of(std::string_view from, std::string_view to) {
    const auto [code, message] = error_of([&] { parse_problem(replaced(std::string(encoder_text), from, to)); });
    CHECK(code == Code::invalid_problem);
    return message;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace

TEST_SUITE_BEGIN("generator");

TEST_CASE("the text of a problem never changes: caches and databases are keyed by it") {
    const Problem p = draw::detr(Pass::forward, 2, 0, Type::f16);
    CHECK(canonical(p) == encoder_text);
    CHECK(parse_problem(encoder_text) == p);
}

TEST_CASE("5000 random problems read back as they were written, and two texts are two problems") {
    draw::Urn urn(1);
    std::set<std::string> texts;
    std::vector<Problem> problems;
    for (int i = 0; i < 5000; i++) {
        const Problem p = draw::any_problem(urn);
        const std::string text = canonical(p);
        REQUIRE(parse_problem(text) == p);
        REQUIRE(normalise(p) == p);
        if (texts.insert(text).second) problems.push_back(p);
        if (i > 0 && i % 50 == 0)
            REQUIRE((canonical(problems[problems.size() / 2]) == text) == (problems[problems.size() / 2] == p));
    }
    CHECK(texts.size() > 4900);
}

TEST_CASE("the order of words is free, each stands exactly once") {
    std::vector<std::string> words = words_of(encoder_text);
    const Problem p = parse_problem(encoder_text);
    CHECK(words.size() == 22);
    CHECK(parse_problem(joined({words.rbegin(), words.rend()})) == p);
    for (std::size_t i = 0; i < words.size(); i++) {
        const std::string key = words[i].substr(0, words[i].find('='));
        std::vector<std::string> without = words, twice = words;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        twice.push_back(words[i]);
        CHECK(error_of([&] { parse_problem(joined(without)); }).second == "problem text: '" + key + "' is missing");
        CHECK(error_of([&] { parse_problem(joined(twice)); }).second == "problem text: '" + key + "' stands twice");
    }
}

TEST_CASE("malformed texts are refused with the word that is wrong") {
    CHECK(error_of([] { parse_problem(""); }).second == "problem text: expected key=value, got ''");
    CHECK(message_of("batch=2", "batch") == "problem text: expected key=value, got 'batch'");
    CHECK(message_of("batch=2", "batch=2 colour=3") == "problem text: unknown key 'colour'");
    CHECK(message_of("batch=2", "batch=") == "batch: expected an integer, got ''");
    CHECK(message_of("batch=2", "batch=2.0") == "batch: expected an integer, got '2.0'");
    CHECK(message_of("batch=2", "batch=+2") == "batch: expected an integer, got '+2'");
    CHECK(message_of("batch=2", "batch=0x2") == "batch: expected an integer, got '0x2'");
    CHECK(message_of("batch=2", "batch=99999999999999999999") ==
          "batch: expected an integer, got '99999999999999999999'");
    CHECK(message_of("batch=2", "batch=-2") == "batch: expected at least 0, got -2");
    CHECK(message_of("batch=2 ", "batch=2  ") == "problem text: expected key=value, got ''");
    CHECK(message_of("100x167@0", "100") == "level: expected HEIGHTxWIDTH or HEIGHTxWIDTH@START, got '100'");
    CHECK(message_of("100x167@0", "100x@0") == "width of a level: expected an integer, got ''");
    CHECK(message_of("100x167@0", "100x167@") == "start of a level: expected an integer, got ''");
    CHECK(message_of("points=4,4,4,4", "points=4,,4,4").find("expected an integer, got ''") != std::string::npos);
    CHECK(message_of("value=f16", "value=half") == "unknown type 'half': expected one of f32, f16, bf16, f64, e4m3");
    CHECK(message_of("pass=forward", "pass=sideways") == "unknown pass 'sideways': expected one of forward, backward");
    CHECK(message_of("sampling=bilinear", "sampling=cubic").find("expected one of bilinear, nearest") !=
          std::string::npos);
    CHECK(message_of("gradients=value", "gradients=queries") ==
          "gradients: expected value, location, weight, each once, or none, got 'queries'");
    CHECK(message_of("gradients=value", "gradients=value,value").find("each once") != std::string::npos);
    for (const char* number : {"7", "-1", "2", "", "yes", "True"})
        CHECK(message_of("softmax=0", std::string("softmax=") + number) ==
              std::string("softmax: expected 0, 1, true or false, got '") + number + "'");
    for (const char* type : {"f32", "bf16", "e4m3"})  // f32, the field's default, included
        CHECK(message_of("output=f16", std::string("output=") + type) ==
              std::string("output type: expected the value's type f16, got ") + type);
    CHECK(message_of("strides=0,0,0", "strides=0,0") == "strides: expected 3 numbers, got 2");
    CHECK(error_of([] { parse_problem(std::string((1 << 20) + 1, 'x')); }).second ==
          "problem text: expected at most 1 MiB");
}

TEST_CASE("a long word is quoted up to 64 characters") {
    const std::string word(100'000, 'x');
    for (const std::string& text : {word, "batch=" + word, word + "=1", "batch=1 " + word + "=2"}) {
        const std::string said = error_of([&] { parse_problem(text); }).second;
        CHECK(said.size() < 200);
    }
    CHECK(message_of("value=f16", "value=" + word).size() < 200);
    CHECK(message_of("batch=2", "batch=2 " + word + "=3").size() < 200);
    CHECK(error_of([&] { parse_config(word); }).second.size() < 200);
    CHECK(error_of([&] { parse_config("heads=" + word); }).second.size() < 200);
}

TEST_CASE("20000 damaged texts: a problem that reads back, or an Error, and nothing else") {
    draw::Urn urn(2);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        std::string text = canonical(draw::any_problem(urn));
        for (std::int64_t changes = urn.between(1, 3); changes > 0; changes--) {
            const auto at = static_cast<std::size_t>(urn.between(0, static_cast<std::int64_t>(text.size()) - 1));
            switch (urn.between(0, 2)) {
                case 0:
                    text[at] = static_cast<char>(urn.between(0, 255));
                    break;
                case 1:
                    text.erase(at, static_cast<std::size_t>(urn.between(1, 8)));
                    break;
                default:
                    text.insert(at, 1, urn.pick({'9', '-', ',', 'x', '@', '=', ' '}));
            }
            if (text.empty()) break;
        }
        try {
            const Problem p = parse_problem(text);
            REQUIRE(parse_problem(canonical(p)) == p);
        } catch (const Error& error) {
            REQUIRE(error.code() == Code::invalid_problem);
            refused++;
        }
    }
    CHECK(refused > 10000);
    CHECK(refused < 20000);  // some changes only change a number
}

TEST_CASE("the text is the same under a locale with decimal commas") {
    const Problem p = draw::detr(Pass::forward, 2, 0, Type::f16);
    const draw::CommaLocale comma;
    CHECK(canonical(p) == encoder_text);
    CHECK(parse_problem(encoder_text) == p);
    CHECK(error_of([] { parse_problem("batch"); }).second == "problem text: expected key=value, got 'batch'");
}

TEST_CASE("every name reads back") {
    const auto all = []<class T>(T, int count) {
        for (int i = 0; i < count; i++) CHECK(parse_name<T>(name(static_cast<T>(i))) == static_cast<T>(i));
    };
    all(Pass{}, 2);
    all(Type{}, 5);
    all(Accumulate{}, 4);
    all(Sampling{}, 4);
    all(Reference{}, 4);
    all(Specialise{}, 2);
}

TEST_SUITE_END();
