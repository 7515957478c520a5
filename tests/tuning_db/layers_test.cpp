// Lookup through the layers: order, nearest, other silicon, invalid records, freezing, equal answers on all nodes.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "msda/error.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/database_file.hpp"
#include "tuning_db/family.hpp"
#include "tuning_db/layers.hpp"

using namespace msda;
using namespace msda::test;

namespace {

Database of(std::initializer_list<Record> records) {
    Database database;
    for (const Record& record : records) database.add(record);
    return database;
}

// User file and two site directories in a directory of their own, no built-in records.
struct Site {
    TemporaryDirectory directory;
    std::vector<std::string> warnings;

    LayersOptions options() {
        LayersOptions o;
        o.user_file = directory / "user.json";
        o.site_directories = {directory / "site1", directory / "site2"};
        o.builtin = false;
        o.warn = [this](const std::string& message) { warnings.push_back(message); };
        for (const std::string& site : o.site_directories) std::filesystem::create_directories(site);
        return o;
    }
    void save(const std::string& name, const Database& database) {
        save_database(FileSystem(), directory / name, database);
    }
};

int unroll_of(const Choice& choice) { return choice.config.unroll; }

}  // namespace

TEST_SUITE_BEGIN("tuning_db");

TEST_CASE("memory hides user hides site hides site; each says where it came from") {
    Site site;
    LayersOptions options = site.options();
    const Problem p = decoder();
    const auto layers_with = [&](const char* name, int unroll) {
        if (*name) site.save(name, of({record_of(p, h200(), 2.0, unroll)}));
        return Layers(options);
    };
    CHECK(Layers(options).choose(p, h200()).how == "heuristic");
    CHECK(layers_with("site2/x.json", 1).choose(p, h200()).source == options.site_directories[1]);
    CHECK(unroll_of(layers_with("site1/x.json", 2).choose(p, h200())) == 2);
    CHECK(unroll_of(layers_with("user.json", 1).choose(p, h200())) == 1);
    options.packs = [&] { return std::vector<Layer>{{"a.pack", of({record_of(p, h200(), 1.01, 2)})}}; };
    Layers layers(options);
    CHECK(layers.choose(p, h200()).source == "a.pack");
    layers.remember(record_of(p, h200(), 1.01, 4));
    const Choice choice = layers.choose(p, h200());
    CHECK(choice.how == "exact");
    CHECK(choice.source == "memory");
    CHECK(unroll_of(choice) == 4);
    CHECK(site.warnings.empty());
}

TEST_CASE("exact, nearest, family, heuristic, with the distance") {
    Site site;
    site.save("user.json", of({record_of(decoder(300), h200(), 1.2, 1), record_of(decoder(1100), h200(), 1.2, 2)}));
    const Layers layers(site.options());
    CHECK(layers.choose(decoder(300), h200()).how == "exact");

    const Choice same_bucket = layers.choose(decoder(290), h200());
    CHECK(same_bucket.how == "nearest");
    CHECK(same_bucket.distance == 0);
    CHECK(unroll_of(same_bucket) == 1);
    CHECK(unroll_of(layers.choose(decoder(800), h200())) == 2);
    CHECK(layers.choose(decoder(800), h200()).distance == doctest::Approx(0.5));
    CHECK(layers.choose(decoder(300 * 64), h200()).how == "heuristic");

    Silicon other = h200();
    other.sm_count = 114;
    const Choice family = layers.choose(decoder(300), other);
    CHECK(family.how == "family");
    CHECK(family.distance == doctest::Approx(0.2115).epsilon(0.01));
    other.capability = 80;
    CHECK(layers.choose(decoder(300), other).how == "heuristic");

    Problem backward = decoder(300);
    backward.pass = Pass::backward;
    CHECK(layers.choose(normalise(backward), h200()).how == "heuristic");
}

TEST_CASE("of sizes at no distance, other silicon takes the record of the very same one") {
    // 290 and 300 queries share a bucket; the record of 290 gained more, so it came first.
    Site site;
    site.save("user.json", of({record_of(decoder(300), h200(), 1.2, 1), record_of(decoder(290), h200(), 1.9, 2)}));
    Silicon other = h200();
    other.sm_count = 114;
    CHECK(unroll_of(Layers(site.options()).choose(decoder(300), other)) == 1);
    CHECK(unroll_of(Layers(site.options()).choose(decoder(290), other)) == 2);
}

TEST_CASE("sizes vary freely within a family, everything else does not") {
    const Problem base = decoder();
    const auto differs = [&](auto change) {
        Problem p = base;
        change(p);
        return family_of(normalise(p)) != family_of(base);
    };
    CHECK_FALSE(differs([](Problem& p) { p.queries = 7; }));
    CHECK_FALSE(differs([](Problem& p) { p.batch = 64; }));
    CHECK_FALSE(differs([](Problem& p) {
        p.levels[0] = {64, 64}, p.pixels = 0, p.levels[1].start = p.levels[2].start = p.levels[3].start = -1;
    }));
    CHECK_FALSE(differs([](Problem& p) { p.specialise = Specialise::family; }));
    CHECK_FALSE(differs([](Problem& p) { p.alignment = 4; }));
    CHECK(differs([](Problem& p) { p.pass = Pass::backward; }));
    CHECK(differs([](Problem& p) { p.heads = 16; }));
    CHECK(differs([](Problem& p) { p.head_dim = 64; }));
    CHECK(differs([](Problem& p) { p.points = {4, 4, 4, 3}; }));
    CHECK(differs([](Problem& p) { p.value = p.output = Type::bf16; }));
    CHECK(differs([](Problem& p) { p.location = Type::f16; }));
    CHECK(differs([](Problem& p) { p.sampling = Sampling::nearest; }));
    CHECK(differs([](Problem& p) { p.softmax = true; }));
    CHECK(differs([&](Problem& p) { p.queries = p.pixels; }));
}

TEST_CASE("deterministic gradients come from the heuristic alone") {
    Site site;
    Problem p = decoder();
    p.pass = Pass::backward;
    p.accumulate = Accumulate::deterministic;
    p = normalise(p);
    Record record = record_of(p, h200());
    record.config = by_name(default_config(p, h200()));
    site.save("user.json", of({record}));
    CHECK(Layers(site.options()).choose(p, h200()).how == "heuristic");
}

TEST_CASE("an unknown, missing or out-of-range config field falls back and warns once each") {
    const Problem p = decoder();
    const auto spoiled = [&](auto change) {
        Record record = record_of(p, h200());
        change(record.config);
        return record;
    };
    const Record bad[] = {spoiled([](auto& config) { config["warp_drive"] = 1; }),
                          spoiled([](auto& config) { config.erase("unroll"); }),
                          spoiled([](auto& config) { config["vector"] = 3; }),
                          spoiled([](auto& config) { config["lanes"] = std::int64_t{1} << 40; })};
    const char* named[] = {"warp_drive", "unroll", "vector", "lanes"};
    for (int i = 0; i < 4; i++) {
        Site site;
        site.save("user.json", of({bad[i]}));
        const Layers layers(site.options());
        for (int repeat = 0; repeat < 3; repeat++) {
            const Choice choice = layers.choose(p, h200());
            CHECK(choice.how == "heuristic");
            CHECK(choice.config == default_config(p, h200()));
            CHECK(layers.choose(decoder(310), h200()).how == "heuristic");
        }
        REQUIRE(site.warnings.size() == 1);
        CHECK(site.warnings[0].find(named[i]) != std::string::npos);
    }
}

TEST_CASE("an invalid exact record falls back to a near one that fits") {
    Site site;
    Record bad = record_of(decoder(300), h200());
    bad.config["vector"] = 3;
    site.save("user.json", of({bad, record_of(decoder(400), h200(), 1.2, 2)}));
    CHECK(Layers(site.options()).choose(decoder(300), h200()).how == "nearest");
    CHECK(site.warnings.size() == 1);
}

TEST_CASE("a record whose digest fits and that cannot be read is passed over and named once") {
    Site site;
    Record bad = record_of(decoder(300), h200());
    bad.candidates = -5;
    site.save("user.json", of({bad, record_of(decoder(400), h200(), 1.2, 2)}));
    const Layers layers(site.options());
    CHECK(layers.choose(decoder(300), h200()).how == "nearest");
    CHECK(layers.choose(decoder(310), h200()).how == "nearest");
    REQUIRE(site.warnings.size() == 1);
    CHECK(site.warnings[0].find("candidates") != std::string::npos);
    CHECK(layers.effective().size() == 1);
}

TEST_CASE("a record of another version's problem text is kept, never chosen, and named once") {
    Site site;
    Record foreign = record_of(decoder(), h200());
    foreign.problem += " warp=9";
    site.save("user.json", of({foreign}));
    const Layers layers(site.options());
    CHECK(layers.choose(decoder(), h200()).how == "heuristic");
    CHECK(layers.choose(decoder(), h200()).how == "heuristic");
    CHECK(site.warnings.size() == 1);
    CHECK(layers.effective().size() == 1);
}

TEST_CASE("simulated records never answer for a real GPU") {
    Site site;
    Silicon simulated = h200();
    simulated.partition = std::string(simulated_partition);
    site.save("user.json", of({record_of(decoder(), simulated)}));
    const Layers layers(site.options());
    CHECK(layers.choose(decoder(), h200()).how == "heuristic");
    CHECK(layers.choose(decoder(), simulated).how == "exact");
}

TEST_CASE("MSDA_DB freezes every layer to one file") {
    Site site;
    site.save("user.json", of({record_of(decoder(), h200(), 1.2, 1)}));
    site.save("frozen.json", of({record_of(decoder(), h200(), 1.1, 2)}));
    LayersOptions options = site.options();
    options.file = site.directory / "frozen.json";
    options.packs = [] { return std::vector<Layer>{{"a.pack", of({record_of(decoder(), h200(), 9, 4)})}}; };
    Layers layers(options);
    layers.remember(record_of(decoder(), h200(), 9, 4));
    CHECK(unroll_of(layers.choose(decoder(), h200())) == 2);
    CHECK(layers.hash() == load_database(FileSystem(), options.file).database.hash());
    options.file = site.directory / "missing.json";
    CHECK_THROWS_AS(Layers(options).choose(decoder(), h200()), Error);
}

TEST_CASE("two nodes with the same records elsewhere: equal hash, equal choices") {
    Site a;
    Site b;
    std::vector<Record> records;
    for (int i = 0; i < 40; i++)
        records.push_back(record_of(decoder(64 + 32 * i), h200(), 1 + 0.01 * (i * 7 % 5), 1 << i % 3));
    for (std::size_t i = 0; i < records.size(); i++) {
        a.save("user.json", of({records[i]}));
        b.save(i % 2 ? "site1/odd.json" : "site2/even.json", of({records[records.size() - 1 - i]}));
    }
    const Layers one(a.options());
    const Layers two(b.options());
    CHECK(one.hash() == two.hash());
    for (std::int64_t queries = 1; queries < 3000; queries += 37) {
        const Choice x = one.choose(decoder(queries), h200());
        const Choice y = two.choose(decoder(queries), h200());
        REQUIRE(x.config == y.config);
        REQUIRE(x.how == y.how);
        REQUIRE(x.distance == y.distance);
    }
}

TEST_CASE("a damaged layer file costs its records, one warning, and stays as it is") {
    Site site;
    LayersOptions options = site.options();
    std::ofstream(options.user_file) << "garbage";
    site.save("site1/good.json", of({record_of(decoder(), h200())}));
    const Layers layers(options);
    CHECK(layers.choose(decoder(), h200()).how == "exact");
    CHECK(layers.choose(decoder(), h200()).how == "exact");
    REQUIRE(site.warnings.size() == 1);
    CHECK(site.warnings[0].find(options.user_file) != std::string::npos);
    CHECK(std::filesystem::file_size(options.user_file) == 7);
}

TEST_CASE("what ships in the library is whole and usable") {
    LayersOptions options;
    options.user_file.clear();
    std::vector<std::string> warnings;
    options.warn = [&](const std::string& message) { warnings.push_back(message); };
    const Layers layers(options);
    for (const Layer& layer : layers.layers())
        for (const auto& [key, record] : layer.database.records()) {
            Silicon silicon;
            silicon.capability = key.second.capability;
            silicon.sm_count = key.second.sm_count;
            silicon.l2_bytes = key.second.l2_bytes;
            silicon.bus_width = key.second.bus_width;
            silicon.partition = key.second.partition;
            const Problem p = parse_problem(key.first);
            if (p.accumulate != Accumulate::deterministic) CHECK(layers.choose(p, silicon).how == "exact");
        }
    CHECK(warnings.empty());
}

TEST_SUITE_END();
