// Order, digest and config table of a record; its JSON is in record_json.cpp.
#include "tuning_db/record.hpp"

#include <fmt/format.h>

#include <cmath>

#include "msda/error.hpp"

namespace msda {
namespace {

double round_time(double us) { return std::round(us * 1000) / 1000; }

void round_times(Figures& figures) {
    for (auto* times : {&figures.cold, &figures.warm})
        for (auto& [kind, us] : *times) us = round_time(us);
}

bool positive(double us) { return std::isfinite(us) && us > 0; }

bool all_positive(const Figures& figures) {
    for (const auto* times : {&figures.cold, &figures.warm})
        for (const auto& [kind, us] : *times)
            if (!positive(us)) return false;
    return true;
}

}  // namespace

Record rounded(Record record) {
    for (double* us : {&record.time_us, &record.default_us, &record.mad_us}) *us = round_time(*us);
    round_times(record.time);
    round_times(record.default_time);
    const bool good = positive(record.time_us) && positive(record.default_us) && std::isfinite(record.mad_us) &&
                      record.mad_us >= 0 && all_positive(record.time) && all_positive(record.default_time);
    if (!good)
        throw Error(Code::invalid_argument,
                    fmt::format("record of '{}': expected positive times, got {} us and {} us for the default",
                                record.problem, record.time_us, record.default_us));
    return record;
}

std::map<std::string, std::int64_t> by_name(const Config& config) {
    std::map<std::string, std::int64_t> table;
    for (const ConfigField& field : config_fields()) table.emplace(field.name, config.*field.member);
    return table;
}

bool better(const Record& a, const Record& b) {
    if (a.policy != b.policy) return a.policy > b.policy;
    if (a.speedup() != b.speedup()) return a.speedup() > b.speedup();
    if (a.samples != b.samples) return a.samples > b.samples;
    return digest(a) > digest(b);
}

}  // namespace msda
