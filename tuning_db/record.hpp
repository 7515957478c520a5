// One record of the tuning database: which config won for one problem on one silicon, how fast, and how it was found.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tuning_db/silicon_key.hpp"

namespace msda {

// How thoroughly a record was gained; the higher one wins a merge, whatever its times.
enum Policy : int {
    policy_partial = 1,   // the search was stopped before its end (budget, signal)
    policy_complete = 2,  // a search to its own end
};

// Times in µs of one config by kind of data ("model", "uniform", a capture's name), with L2 flushed and with L2 warm.
struct Figures {
    std::map<std::string, double> cold;
    std::map<std::string, double> warm;
    bool operator==(const Figures&) const = default;
};

// A record. Config fields stay a table of names here: a record written by another version is kept and merged even where
// this version cannot use it (tuning_db/check.hpp decides).
struct Record {
    std::string problem;  // canonical(Problem)
    SiliconKey silicon;
    std::map<std::string, std::int64_t> config;  // by field name
    double time_us = 0;     // the objective: geometric mean over the kinds of data, cold L2; > 0 and finite
    double default_us = 0;  // the same of default_config, measured in the same run; > 0 and finite
    double mad_us = 0;      // median absolute deviation of the objective's samples
    Figures time;
    Figures default_time;
    std::int64_t samples = 0;  // of the winner, per kind of data
    int policy = policy_partial;
    int candidates = 0;  // configs that were verified and timed
    int sm_mhz = 0;      // SM clock while measuring; 0: unknown
    int memory_mhz = 0;
    std::string gpu;     // marketing name, a label
    std::string driver;  // CUDA version of the driver, "13.0"
    std::string nvrtc;
    std::string generator;  // msda version that emitted the kernels
    std::string date;       // ISO 8601, UTC
    std::string command;    // what to run to measure it again

    bool operator==(const Record&) const = default;

    // How many times faster than the default in the same run; the only speed that two nodes can compare.
    double speedup() const { return default_us / time_us; }
};

// The record as one line of JSON with sorted keys, its digest included, no line end. Locale free and byte-identical for
// equal records.
std::string to_line(const Record& record);

// Reads a line of schema `schema` back. Throws Error(bad_file) with the reason: not JSON, a key missing, unknown or of
// the wrong kind, a time that is no positive number, a digest that does not fit, too long or too deep. A line without a
// digest (written by hand) is accepted.
Record parse_line(std::string_view line, int schema);

// Whether the line is byte for byte what to_line wrote, of this or another version: the digest in it is that of the
// rest. Much faster than reading it.
bool is_intact(std::string_view line);

// Reads what stands under "silicon" in a line. Throws Error(bad_file) as parse_line does.
SiliconKey parse_silicon(std::string_view text);

// 128-bit XXH3 of the record's line without the digest, 32 hexadecimal digits.
std::string digest(const Record& record);

// The record with its times rounded to 3 decimals, as files hold them: a nanosecond is below what events resolve.
// Throws Error(invalid_argument) when a time is not positive and finite after that.
Record rounded(Record record);

// Names and values of a config, as records store it.
std::map<std::string, std::int64_t> by_name(const Config& config);

// A strict total order over records of one problem and silicon: policy, then speed-up over the default, then samples,
// then digest. The larger record wins a merge, which makes merging commutative, associative and idempotent.
bool better(const Record& a, const Record& b);

}  // namespace msda
