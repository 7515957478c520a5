// Rates and shares of a measurement, as JSON and as tables.
#include <fmt/format.h>

#include <cmath>

#include "tools/cli/bench.hpp"
#include "tools/cli/table.hpp"

namespace msda::cli {
namespace {

// What a time means: bytes a second asked for, and parts of the ceilings of the same run.
struct Rates {
    double gather = 0, scatter = 0, compulsory = 0;                // bytes/s
    double gather_share = 0, scatter_share = 0, memory_share = 0;  // 0 where there is no ceiling
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Rates rates_of(const Problem& p, double us, const Ceilings& ceilings) {
    const Traffic traffic = traffic_of(p);
    const double per_second = us > 0 ? 1e6 / us : 0;
    const int row = Ceilings::row_bytes(p.head_dim * static_cast<std::int64_t>(bytes_of(p.value)));
    Rates rates;
    rates.gather = traffic.gather * per_second;
    rates.scatter = traffic.scatter * per_second;
    rates.compulsory = traffic.compulsory * per_second;
    rates.gather_share = ratio(rates.gather, ceilings.of(fmt::format("gather_l1_{}", row)));
    rates.scatter_share = ratio(rates.scatter, ceilings.of(fmt::format("red_{}", row)));
    rates.memory_share = ratio(rates.compulsory, ceilings.of("copy"));
    return rates;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json positive(double value) { return value > 0 ? number(value) : Json(nullptr); }

Json start_of(const BenchRow& row) {
    const Problem& p = row.what.problem;
    Json json = {{"shape", row.what.shape},        {"pass", name(p.pass)},
                 {"dtype", name(p.value)},         {"location_dtype", name(p.location)},
                 {"weight_dtype", name(p.weight)}, {"locations", row.locations}};
    if (p.pass == Pass::backward) json["accumulate"] = name(p.accumulate);
    return json;
}

void add_errors(Json& json, const Verification& verification) {
    json["verified"] = verification.passed();
    json["norm_error"] = number(verification.norm_error());
    json["max_error"] = number(verification.max_error());
    for (const Verdict& v : verification.verdicts) json["errors"][v.tensor] = number(v.difference.norm_error);
}

Json row_json(const BenchRow& row, const char* l2, const Timing& timing, const Ceilings& ceilings) {
    Json json = start_of(row);
    const Measurement& m = *row.measurement;
    json["l2"] = l2;
    json["median_us"] = number(timing.median_us);
    json["mad_us"] = number(timing.mad_us);
    json["batches"] = timing.batches.size();
    json["launches_per_batch"] = timing.launches;
    json["host_us"] = m.host_us ? number(*m.host_us) : Json(nullptr);
    if (m.verification) add_errors(json, *m.verification);
    const Rates rates = rates_of(row.what.problem, timing.median_us, ceilings);
    json["gather_bytes_per_s"] = positive(rates.gather);
    json["scatter_bytes_per_s"] = positive(rates.scatter);
    json["compulsory_bytes_per_s"] = positive(rates.compulsory);
    json["gather_share"] = positive(rates.gather_share);
    json["scatter_share"] = positive(rates.scatter_share);
    json["memory_share"] = positive(rates.memory_share);
    json["config"] = to_json(row.op->config());
    json["config_origin"] = row.op->config_origin();
    json["source_digest"] = row.op->source_digest();
    json["workspace_bytes"] = row.op->workspace_bytes();
    json["problem"] = canonical(row.what.problem);
    return json;
}

std::string terabytes(double bytes_per_s) { return bytes_per_s > 0 ? fmt::format("{:.2f}", bytes_per_s * 1e-12) : "-"; }
std::string percent(double share) { return share > 0 ? fmt::format("{:.0f}", 100 * share) : "-"; }

std::string verdict(const Measurement& m) {
    if (!m.verification) return "-";
    return fmt::format("{:.1e}{}", m.verification->norm_error(), m.verification->passed() ? "" : " WRONG");
}

}  // namespace

void append_json(Json& rows, const BenchRow& row, const Ceilings& ceilings) {
    if (!row.measurement) {
        Json json = start_of(row);
        json["error"] = row.error;
        json["problem"] = canonical(row.what.problem);
        rows.push_back(std::move(json));
        return;
    }
    if (row.measurement->cold) rows.push_back(row_json(row, "cold", *row.measurement->cold, ceilings));
    if (row.measurement->warm) rows.push_back(row_json(row, "warm", *row.measurement->warm, ceilings));
}

void print_rows(std::ostream& out, const std::vector<BenchRow>& rows, const Ceilings& ceilings) {
    Table table({"shape", "pass", "dtype", "sums", "locations", "cold µs", "±", "warm µs", "host µs", "norm error",
                 "gather TB/s", "% L1", "scatter TB/s", "% red", "compulsory TB/s", "% copy", "config"});
    for (const BenchRow& row : rows) {
        const Problem& p = row.what.problem;
        std::vector<std::string> cells = {row.what.shape, std::string(name(p.pass)), std::string(name(p.value)),
                                          p.pass == Pass::backward ? std::string(name(p.accumulate)) : "-",
                                          row.locations};
        if (!row.measurement) {
            cells.push_back("ERROR: " + row.error);
            cells.resize(17, "");
            table.add(std::move(cells));
            continue;
        }
        const Measurement& m = *row.measurement;
        const Timing& timing = m.cold ? *m.cold : *m.warm;
        const Rates rates = rates_of(p, timing.median_us, ceilings);
        const auto add = [&](std::string cell) { cells.push_back(std::move(cell)); };
        add(m.cold ? short_number(m.cold->median_us) : "-");
        add(short_number(timing.mad_us));
        add(m.warm ? short_number(m.warm->median_us) : "-");
        add(m.host_us ? short_number(*m.host_us) : "-");
        add(verdict(m));
        add(terabytes(rates.gather));
        add(percent(rates.gather_share));
        add(terabytes(rates.scatter));
        add(percent(rates.scatter_share));
        add(terabytes(rates.compulsory));
        add(percent(rates.memory_share));
        add(row.op->config_origin());
        table.add(std::move(cells));
    }
    table.print(out);
}

Json to_json(const Ceilings& ceilings) {
    Json json = Json::object();
    for (const Ceiling& ceiling : ceilings.rates) json[ceiling.name + "_bytes_per_s"] = number(ceiling.bytes_per_s);
    if (!ceilings.rates.empty()) json["bare_launch_us"] = number(ceilings.bare_launch_us);
    return json;
}

void print_ceilings(std::ostream& out, const Ceilings& ceilings) {
    if (ceilings.rates.empty()) return;
    Table table({"ceiling", "TB/s", "of"});
    for (const Ceiling& ceiling : ceilings.rates)
        table.add({ceiling.name, terabytes(ceiling.bytes_per_s), ceiling.what});
    table.print(out);
    out << fmt::format("bare launch {} µs\n\n", short_number(ceilings.bare_launch_us));
}

}  // namespace msda::cli
