// Tuning of one problem from compile threads to the record, on scripted and simulated devices.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "msda/error.hpp"
#include "runtime/tuner/simulated_track.hpp"
#include "runtime/tuner/tune.hpp"
#include "tests/tuner/scripted_track.hpp"
#include "tests/tuning_db/example.hpp"
#include "tuning_db/check.hpp"

using namespace msda;
using namespace msda::test;

namespace {

Binary code_of(const Config& config) { return {{}, canonical(config), ""}; }

TuneRequest request_of(int candidates) {
    TuneRequest request;
    request.problem = decoder();
    request.silicon = h200();
    request.compile_threads = 3;
    for (int i = 0; i < candidates; i++) {
        Config config = default_config(request.problem, request.silicon);
        config.min_blocks = i;
        request.candidates.push_back(config);
    }
    return request;
}

}  // namespace

TEST_SUITE_BEGIN("tuner");

TEST_CASE("a run ends in a record of the winner, with both data kinds, cold and warm") {
    ScriptedTrack track;
    track.us[7] = 80;
    const TuneRequest request = request_of(40);
    const TuneOutcome outcome = tune(request, track, code_of);
    CHECK(outcome.record.config == by_name(request.candidates[7]));
    CHECK(outcome.record.time_us == doctest::Approx(80).epsilon(0.01));
    CHECK(outcome.record.default_us == doctest::Approx(100).epsilon(0.01));
    CHECK(outcome.record.policy == policy_complete);
    CHECK(outcome.record.candidates == 40);
    CHECK(outcome.record.samples >= 32);
    CHECK(outcome.record.sm_mhz == 1980);
    CHECK(outcome.record.memory_mhz == 3201);
    for (const Figures& figures : {outcome.record.time, outcome.record.default_time})
        for (const auto& times : {figures.cold, figures.warm}) {
            REQUIRE(times.size() == 2);
            CHECK(times.contains("model"));
            CHECK(times.contains("uniform"));
        }
    CHECK(outcome.record.time.warm.at("model") < outcome.record.time.cold.at("model"));
    CHECK(outcome.trials.size() == 40);
    CHECK_NOTHROW(rounded(outcome.record));
}

TEST_CASE("loads equal unloads and few modules live at a time") {
    ScriptedTrack track;
    TuneRequest request = request_of(60);
    request.most_loaded = 9;
    tune(request, track, code_of);
    CHECK(track.loads == track.unloads);
    CHECK(track.live() == 0);
    CHECK(track.most_live <= 9);
}

TEST_CASE("wrong, faulting, unloadable and uncompilable candidates are named; the best of the others is kept") {
    ScriptedTrack track;
    for (const int bad : {2, 3, 4}) track.us[bad] = 1;
    track.wrong = {2};
    track.faulting = {3};
    track.unloadable = {4};
    track.us[8] = 70;
    const TuneRequest request = request_of(20);
    const TuneOutcome outcome = tune(request, track, [&](const Config& config) {
        if (config == request.candidates[5]) throw Error(Code::compile_failed, "ptxas: too many registers");
        return code_of(config);
    });
    CHECK(outcome.record.config == by_name(request.candidates[8]));
    CHECK(outcome.trials[2].fate == Fate::wrong);
    CHECK(outcome.trials[2].why.find("norm error") != std::string::npos);
    CHECK(outcome.trials[3].fate == Fate::faulted);
    CHECK(outcome.trials[3].why == "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK(outcome.trials[4].fate == Fate::faulted);
    CHECK(outcome.trials[4].why.find("shared memory") != std::string::npos);
    CHECK(outcome.trials[5].fate == Fate::compile_failed);
}

TEST_CASE("equal machine code with another launch is another candidate") {
    ScriptedTrack track;
    TuneRequest request = request_of(1);
    Config wider = request.candidates[0];
    wider.tile_width *= 2;
    REQUIRE(why_not(request.problem, wider, request.silicon).empty());
    request.candidates = {request.candidates[0], wider, request.candidates[0]};
    const TuneOutcome outcome = tune(request, track, [](const Config&) { return Binary{{}, "same", ""}; });
    CHECK(outcome.trials[1].fate != Fate::duplicate);
    CHECK(outcome.trials[2].fate == Fate::duplicate);
}

TEST_CASE("a wrong default ends the run with the reason, an empty problem at once") {
    ScriptedTrack track;
    track.wrong = {0};
    CHECK_THROWS_AS(tune(request_of(5), track, code_of), Error);
    TuneRequest empty = request_of(1);
    empty.problem = decoder(0);
    try {
        tune(empty, track, code_of);
        FAIL("tuned an empty problem");
    } catch (const Error& error) {
        CHECK(error.code() == Code::invalid_argument);
    }
}

TEST_CASE("a stop from another thread keeps what is done") {
    struct Slow final : ScriptedTrack {
        Sample measure(int candidate, bool warm) override {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            return ScriptedTrack::measure(candidate, warm);
        }
    } track;
    std::atomic<bool> stop = false;
    TuneRequest request = request_of(200);
    request.stop = &stop;
    std::jthread signal([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stop = true;
    });
    const TuneOutcome outcome = tune(request, track, code_of);
    CHECK(outcome.record.policy == policy_partial);
    CHECK(outcome.why.starts_with("stopped"));
    CHECK(outcome.timed > 0);
    CHECK(outcome.record.default_us > 0);
}

TEST_CASE("a lost device keeps what was measured before") {
    struct Dying final : ScriptedTrack {
        int left = 100;
        Sample measure(int candidate, bool warm) override {
            if (left-- <= 0) throw Error(Code::driver_failed, "CUDA_ERROR_DEVICE_LOST");
            return ScriptedTrack::measure(candidate, warm);
        }
    } track;
    const TuneOutcome outcome = tune(request_of(100), track, code_of);
    CHECK(outcome.why.find("CUDA_ERROR_DEVICE_LOST") != std::string::npos);
    CHECK(outcome.record.policy == policy_partial);
    Dying dead;
    dead.left = 0;
    CHECK_THROWS_AS(tune(request_of(100), dead, code_of), Error);
}

TEST_CASE("progress is reported and grows") {
    ScriptedTrack track;
    TuneRequest request = request_of(30);
    std::vector<double> done;
    request.progress = [&](const TuneProgress& progress) {
        done.push_back(progress.done);
        CHECK(progress.candidates == 30);
    };
    tune(request, track, code_of);
    REQUIRE_FALSE(done.empty());
    CHECK(done.back() <= 1);
}

TEST_CASE("the simulated device: the generator's own space, searched to within 2 % of its best") {
    SimulatedTrack track;
    TuneRequest request;
    request.problem = decoder();
    request.silicon = simulated_silicon();
    request.compile_threads = 2;
    const TuneOutcome outcome = tune(request, track, code_of);
    double best = 1e300;
    for (const Config& config : space(request.problem, request.silicon))
        best = std::min(best, SimulatedTrack::cost_us(request.problem, config));
    std::string why;
    const auto config = usable_config(outcome.record, request.problem, request.silicon, why);
    REQUIRE_MESSAGE(config, why);
    // Climbing from 96 samples of the space needs no more than a part of it.
    CHECK(outcome.timed >= 96);
    CHECK(outcome.timed < 500);
    CHECK(SimulatedTrack::cost_us(request.problem, *config) <= 1.02 * best);
    CHECK(outcome.record.silicon.partition == simulated_partition);
}

TEST_SUITE_END();
