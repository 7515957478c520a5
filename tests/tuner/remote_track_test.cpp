// Candidates in a worker process: whatever kills the worker costs its candidate and is named, the rest goes on.
#include <doctest/doctest.h>

#include "msda/error.hpp"
#include "runtime/tuner/serve.hpp"
#include "runtime/tuner/tune.hpp"
#include "tests/paths.hpp"
#include "tests/tuning_db/example.hpp"

using namespace msda;
using namespace msda::test;

namespace {

std::vector<std::string> worker(const char* argument = "") {
    return {std::string(program_folder()) + "/msda_test_scripted_worker", argument};
}

TuneRequest ten_candidates() {
    TuneRequest request;
    request.problem = decoder();
    request.silicon = h200();
    request.compile_threads = 2;
    for (int i = 0; i < 10; i++) {
        Config config = default_config(request.problem, request.silicon);
        config.min_blocks = i;
        request.candidates.push_back(config);
    }
    return request;
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("a track behind a pipe gives what the track gives") {
    RemoteTrack track(worker());
    track.open(decoder(), {});
    const Config config = default_config(decoder(), h200());
    track.load(0, config, {{}, std::string(100'000, '\n') + "code", ""});
    CHECK(track.verify(0).empty());
    const Sample sample = track.measure(0, false);
    REQUIRE(sample.us.size() == 2);
    CHECK(sample.us[0] == doctest::Approx(100).epsilon(0.02));
    CHECK(sample.sm_mhz == 1980);
    CHECK(track.memory_mhz() == 3201);
    track.unload(0);
    CHECK(track.workers() == 1);
}

TEST_CASE("fault, crash, hang, exit and nonsense each cost their candidate, by name") {
    RemoteTrack track(worker(), std::chrono::milliseconds(1500));
    const TuneRequest request = ten_candidates();
    const TuneOutcome outcome = tune(request, track, [](const Config& config) {
        return Binary{{}, canonical(config), ""};
    });
    const char* reasons[] = {"CUDA_ERROR_ILLEGAL_ADDRESS", "signal 11", "hung", "exited with code 9", "no JSON"};
    for (int i = 0; i < 5; i++) {
        const Trial& trial = outcome.trials[static_cast<std::size_t>(3 + i)];
        CHECK(trial.fate == Fate::faulted);
        CHECK_MESSAGE(trial.why.find(reasons[i]) != std::string::npos, trial.why);
    }
    CHECK(outcome.trials[8].fate == Fate::wrong);
    CHECK(outcome.record.config == by_name(request.candidates[9]));
    CHECK(track.workers() == 6);
}

TEST_CASE("a worker that cannot be started or never serves is an error, not a candidate's fault") {
    RemoteTrack missing({"/nowhere/msda", "worker"});
    CHECK_THROWS_AS(missing.open(decoder(), {}), Error);
    RemoteTrack stillborn(worker("stillborn"));
    try {
        stillborn.open(decoder(), {});
        FAIL("opened");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("exited with code 4") != std::string::npos);
    }
}

TEST_SUITE_END();
