// Summary, one section a problem, and the plots of its candidates.
#include "tools/cli/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "msda/error.hpp"
#include "tools/cli/problem_title.hpp"
#include "tools/cli/report_style.hpp"
#include "tools/cli/svg_plot.hpp"

namespace msda::cli {
namespace {

double geometric_mean(const std::map<std::string, double>& times) {
    double sum = 0;
    for (const auto& [kind, us] : times) sum += std::log(us);
    return times.empty() ? 0 : std::exp(sum / static_cast<double>(times.size()));
}

// One problem's trials, with the marks that plots need.
class Candidates {
  public:
    Candidates(const Record& record, const TrialSet& set) : record_(record), trials_(set.trials) {}

    bool timed(const Trial& trial) const { return trial.time_us > 0; }
    std::string kind(const Trial& trial) const {
        if (&trial == &trials_.front()) return "default";
        return by_name(trial.config) == record_.config ? "winner" : "point";
    }
    double speedup(const Trial& trial) const { return trials_.front().time_us / trial.time_us; }
    // Only what differs from the default: with all fields of all configs a page would be megabytes of text.
    std::string note(const Trial& trial) const {
        std::string text;
        for (const ConfigField& field : config_fields())
            if (trial.config.*field.member != trials_.front().config.*field.member)
                text += fmt::format("{}={} ", field.name, trial.config.*field.member);
        return fmt::format("{}\n{:.2f} µs, {:.2f}x, {} samples", text.empty() ? "the default" : text, trial.time_us,
                           speedup(trial), trial.samples);
    }
    std::string note_of_special(const Trial& trial) const { return kind(trial) == "point" ? "" : note(trial); }

    std::string rank_plot() const {
        std::vector<const Trial*> order;
        for (const Trial& trial : trials_)
            if (timed(trial)) order.push_back(&trial);
        std::ranges::stable_sort(order, {}, [](const Trial* trial) { return trial->time_us; });
        Plot plot{
            .title = "Speed-up over the default", .x = {"rank of the config"}, .y = {"times faster"}, .points = {}};
        for (std::size_t i = 0; i < order.size(); i++)
            plot.points.push_back({static_cast<double>(i + 1), speedup(*order[i]), kind(*order[i]), note(*order[i])});
        return plot.svg();
    }

    std::string cold_warm_plot() const {
        Plot plot{.title = "Cold against warm L2", .x = {"warm, µs", true}, .y = {"cold, µs", true}, .points = {}};
        plot.diagonal = true;
        for (const Trial& trial : trials_) {
            const double cold = geometric_mean(trial.figures.cold);
            const double warm = geometric_mean(trial.figures.warm);
            if (cold > 0 && warm > 0) plot.points.push_back({warm, cold, kind(trial), note_of_special(trial)});
        }
        return plot.svg();
    }

    // Time against each parameter that varies; its values stand at equal distances, in order, and the marks of one
    // value side by side, so that many can be told from few.
    std::string parameter_plots() const {
        std::string html;
        for (const ConfigField& field : config_fields()) {
            std::set<int> values;
            for (const Trial& trial : trials_)
                if (timed(trial)) values.insert(trial.config.*field.member);
            if (values.size() < 2) continue;
            Plot plot{.title = fmt::format("Time against {}", field.name),
                      .x = {std::string(field.name)},
                      .y = {"cold, µs", true},
                      .points = {}};
            std::map<int, double> place;
            for (const int value : values) {
                place.emplace(value, static_cast<double>(place.size()));
                plot.x.names.push_back(fmt::format("{}", value));
            }
            plot.width = 310;
            plot.height = 210;
            double spread = 0;  // multiples of the golden ratio fill an interval evenly, whatever their number
            for (const Trial& trial : trials_) {
                if (!timed(trial)) continue;
                spread = std::fmod(spread + 0.618, 1.0);
                const double aside = kind(trial) == "point" ? 0.5 * (spread - 0.5) : 0;
                plot.points.push_back(
                    {place[trial.config.*field.member] + aside, trial.time_us, kind(trial), note_of_special(trial)});
            }
            html += plot.svg();
        }
        return html;
    }

    std::string fates() const {
        std::map<std::string, int> count;
        for (const Trial& trial : trials_)
            if (&trial != &trials_.front()) count[std::string(name(trial.fate))]++;
        std::string text;
        for (const auto& [fate, number] : count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, fate);
        return text;
    }

    std::string rejected() const {
        std::string rows;
        for (const Trial& trial : trials_)
            if (trial.fate == Fate::wrong || trial.fate == Fate::faulted || trial.fate == Fate::no_time ||
                trial.fate == Fate::compile_failed)
                rows += fmt::format("<tr><td>{}<td><code>{}</code><td>{}", name(trial.fate), canonical(trial.config),
                                    escape_html(trial.why.substr(0, 400)));
        if (rows.empty()) return {};
        return fmt::format(
            "<details><summary>rejected configs</summary><table><tr><th>fate<th>config<th>why{}</table></details>\n",
            rows);
    }

  private:
    const Record& record_;
    const std::vector<Trial>& trials_;
};

std::string figures_rows(const Record& r) {
    std::string rows =
        fmt::format("<tr><td>objective (geometric mean, cold)<td class=n>{:.2f}<td class=n>{:.2f}<td class=n>{:.2f}x",
                    r.default_us, r.time_us, r.speedup());
    const auto add = [&](const char* state, const std::map<std::string, double>& standard,
                         const std::map<std::string, double>& tuned) {
        for (const auto& [kind, us] : tuned)
            if (const auto at = standard.find(kind); at != standard.end())
                rows +=
                    fmt::format("<tr><td>{} locations, {} L2<td class=n>{:.2f}<td class=n>{:.2f}<td class=n>{:.2f}x",
                                escape_html(kind), state, at->second, us, at->second / us);
    };
    add("cold", r.default_time.cold, r.time.cold);
    add("warm", r.default_time.warm, r.time.warm);
    return rows;
}

std::string changed_fields(const Record& record, const TrialSet* set) {
    if (!set || set->trials.empty()) return {};
    std::string text;
    for (const auto& [field, value] : by_name(set->trials.front().config)) {
        const auto at = record.config.find(field);
        if (at != record.config.end() && at->second != value)
            text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", field, value, at->second);
    }
    return text.empty() ? "the default" : text;
}

// Where and how a record was gained, without what is not known.
std::string surroundings(const Record& r) {
    std::string text = r.gpu.empty() ? canonical(r.silicon) : r.gpu;
    text += fmt::format(" · {} samples of {} configs timed · {}", r.samples, r.candidates,
                        r.policy >= policy_complete ? "complete search" : "stopped early");
    if (r.sm_mhz > 0) text += fmt::format(" · {} MHz", r.sm_mhz);
    for (const auto& [what, value] : {std::pair<const char*, const std::string&>{"driver ", r.driver},
                                      {"NVRTC ", r.nvrtc},
                                      {"msda ", r.generator},
                                      {"", r.date}})
        if (!value.empty()) text += fmt::format(" · {}{}", what, value);
    return text;
}

std::string section(const Record& r, const TrialSet* set, std::size_t number) {
    std::string config;
    for (const auto& [field, value] : r.config)
        config += fmt::format("{}{}={}", config.empty() ? "" : " ", field, value);
    std::string html = fmt::format(
        "<section id=p{}><h2>{}</h2><p>{}</p><table><tr><th>µs<th class=n>default<th class=n>tuned<th "
        "class=n>speed-up{}</table>",
        number, escape_html(title_of(r.problem)), escape_html(surroundings(r)), figures_rows(r));
    if (set && !set->trials.empty()) {
        const Candidates candidates(r, *set);
        html += fmt::format("<p>Winner: {}. Candidates: {}.</p><div class=plots>{}{}{}</div>{}",
                            escape_html(changed_fields(r, set)), candidates.fates(), candidates.rank_plot(),
                            candidates.cold_warm_plot(), candidates.parameter_plots(), candidates.rejected());
    }
    return html +
           fmt::format(
               "<details><summary>problem, config and command</summary><p><code>{}</code></p><p><code>{}</code></p>"
               "<p><code>{}</code></p></details></section>\n",
               escape_html(r.problem), escape_html(config), escape_html(r.command));
}

std::string summary(const Database& database) {
    double sum = 0;
    double best = 1;
    for (const auto& [key, r] : database.records()) {
        sum += std::log(r.speedup());
        best = std::max(best, r.speedup());
    }
    std::string rows;
    std::size_t number = 0;
    for (const auto& [key, r] : database.records())
        rows += fmt::format(
            "<tr><td><a href=\"#p{}\">{}</a><td>{}<td class=n>{:.2f}<td class=n>{:.2f}<td class=n>{:.2f}x<td>"
            "<span class=bar style=\"width:{:.0f}px\"></span>",
            number++, escape_html(title_of(r.problem)), escape_html(r.gpu), r.default_us, r.time_us, r.speedup(),
            160 * (r.speedup() - 1) / std::max(best - 1, 0.01));
    const double mean = database.size() ? std::exp(sum / static_cast<double>(database.size())) : 1;
    return fmt::format(
        "<p>{} problems, tuned configs {:.2f}x as fast as the defaults in the geometric mean. Times are medians in µs "
        "with "
        "cold L2.</p><table><tr><th>problem<th>GPU<th class=n>default<th class=n>tuned<th "
        "class=n>speed-up<th>{}</table>",
        database.size(), mean, rows);
}

}  // namespace

std::string report_page(const std::string& title, const Database& database, const std::vector<TrialSet>& trials) {
    std::map<Database::Key, const TrialSet*> by_key;
    for (const TrialSet& set : trials) by_key[{set.problem, set.silicon}] = &set;
    std::string html = fmt::format(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
        "<title>{0}</title><style>{1}</style>\n<h1>{0}</h1>{2}"
        "<p class=key><span><i style=\"background:var(--winner)\"></i>winner</span><span><i "
        "style=\"background:var(--default)\">"
        "</i>default</span><span><i style=\"background:var(--point)\"></i>other configs</span></p>\n",
        escape_html(title), report_style, summary(database));
    std::size_t number = 0;
    for (const auto& [key, record] : database.records()) {
        const auto at = by_key.find(key);
        html += section(record, at == by_key.end() ? nullptr : at->second, number++);
    }
    return html + "</html>\n";
}

}  // namespace msda::cli
