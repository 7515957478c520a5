// Trials beside a database: read back as they were written; a file that is no set of trials is named and skipped.
#include <doctest/doctest.h>

#include <fstream>

#include "runtime/tuner/trials_file.hpp"
#include "tests/tuning_db/example.hpp"

using namespace msda;
using namespace msda::test;

namespace {

Trial trial(Fate fate, double us) {
    Trial t;
    t.config = default_config(decoder(), h200());
    t.fate = fate;
    t.why = us == 0 ? "faults" : "";
    t.samples = us == 0 ? 0 : 12;
    t.time_us = us;
    if (us > 0) t.figures = {{{"model", us}}, {{"model", us / 2}}};
    return t;
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("trials are read back, of candidates that failed too") {
    const TemporaryDirectory directory;
    const std::string database = directory / "db.json";
    const FileSystem files;
    save_trials(files, database, {"problem", key_of(h200()), {trial(Fate{}, 20), trial(Fate{}, 0)}});
    std::vector<std::string> complaints;
    const std::vector<TrialSet> sets = load_trials(files, database, complaints);
    CHECK(complaints.empty());
    REQUIRE(sets.size() == 1);
    REQUIRE(sets[0].trials.size() == 2);
    CHECK(sets[0].silicon == key_of(h200()));
    CHECK(sets[0].trials[0].config == default_config(decoder(), h200()));
    CHECK(sets[0].trials[0].figures.warm.at("model") == 10);
    CHECK(sets[0].trials[1].why == "faults");
    CHECK(sets[0].trials[1].time_us == 0);
}

TEST_CASE("a file that is no set of trials costs a complaint: numbers in range, depth limited") {
    const TemporaryDirectory directory;
    const std::string database = directory / "db.json";
    const FileSystem files;
    save_trials(files, database, {"problem", key_of(h200()), {trial(Fate{}, 20)}});
    std::vector<std::string> complaints;
    std::vector<std::string> names;
    REQUIRE_FALSE(files.list(trials_directory(database), names));
    std::string whole;
    REQUIRE_FALSE(files.read(trials_directory(database) + "/" + names.at(0), whole));
    const auto damaged = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        return text.replace(at, from.size(), to);
    };
    const std::vector<std::string> texts = {"",
                                            "[]",
                                            "{}",
                                            whole.substr(0, whole.size() / 2),
                                            std::string(100'000, '['),
                                            damaged("\"samples\":12", "\"samples\":1e300"),
                                            damaged("\"sm_count\":132", "\"sm_count\":1e300"),
                                            damaged("\"capability\":90", "\"capability\":-1"),
                                            damaged("\"time_us\":20", "\"time_us\":-20"),
                                            damaged("\"warm\":{\"model\":10.0}", "\"warm\":{\"model\":null}")};
    for (std::size_t i = 0; i < texts.size(); i++)
        std::ofstream(trials_directory(database) + "/" + std::to_string(i) + ".json", std::ios::binary) << texts[i];
    CHECK(load_trials(files, database, complaints).size() == 1);
    CHECK(complaints.size() == texts.size());
}

TEST_SUITE_END();
