// Problems, silicon and records that the database tests share.
#pragma once

#include "msda/config.hpp"
#include "msda/problem.hpp"
#include "tests/fakes/temporary_directory.hpp"
#include "tuning_db/record.hpp"

namespace msda::test {

// The decoder of Deformable DETR with the queries given, normalised.
inline Problem decoder(std::int64_t queries = 300, std::int64_t batch = 2) {
    Problem p;
    p.batch = batch;
    p.queries = queries;
    p.levels = {{100, 167}, {50, 84}, {25, 42}, {13, 21}};
    p.value = p.output = Type::f16;
    return normalise(p);
}

inline Silicon h200() {
    Silicon silicon;
    silicon.bus_width = 6144;
    return silicon;
}

// A record that holds default_config with `unroll` set, `speedup` times faster than the default's 100 µs.
inline Record record_of(const Problem& problem, const Silicon& silicon, double speedup = 1.25, int unroll = 2) {
    Config config = default_config(problem, silicon);
    config.unroll = unroll;
    Record r;
    r.problem = canonical(problem);
    r.silicon = key_of(silicon);
    r.config = by_name(config);
    r.default_us = 100;
    r.time_us = 100 / speedup;
    r.mad_us = 0.5;
    r.time = {{{"model", r.time_us}, {"uniform", r.time_us}}, {{"model", 50}, {"uniform", 60}}};
    r.default_time = {{{"model", 100}, {"uniform", 100}}, {{"model", 70}, {"uniform", 80}}};
    r.samples = 40;
    r.policy = policy_complete;
    r.candidates = 120;
    r.sm_mhz = 1980;
    r.memory_mhz = 3201;
    r.gpu = "NVIDIA H200";
    r.driver = "13.0";
    r.nvrtc = "13.0";
    r.generator = "0.1.0";
    r.date = "2025-01-02T03:04:05Z";
    r.command = "msda tune ddetr-dec --dtype f16";
    return rounded(r);
}

using fakes::TemporaryDirectory;

}  // namespace msda::test
