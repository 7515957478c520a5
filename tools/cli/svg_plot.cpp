// Scales, ticks and marks of the plots in reports.
#include "tools/cli/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace msda::cli {
namespace {

constexpr int left = 52;
constexpr int right = 12;
constexpr int top = 28;
constexpr int bottom = 40;
constexpr double digit_width = 6.5;  // of the labels, at most

// Maps values to pixels, with a margin of 5 % at both ends.
class Scale {
  public:
    Scale(double low, double high, bool logarithmic, double from, double to)
        : logarithmic_(logarithmic), from_(from), to_(to) {
        low_ = transform(low);
        high_ = transform(high);
        const double margin = high_ > low_ ? 0.05 * (high_ - low_) : 0.5;
        low_ -= margin;
        high_ += margin;
    }
    double operator()(double value) const { return from_ + (transform(value) - low_) / (high_ - low_) * (to_ - from_); }
    double low() const { return logarithmic_ ? std::exp2(low_) : low_; }
    double high() const { return logarithmic_ ? std::exp2(high_) : high_; }

  private:
    double transform(double value) const { return logarithmic_ ? std::log2(value) : value; }
    bool logarithmic_;
    double from_, to_;
    double low_ = 0, high_ = 1;
};

std::vector<double> log_ticks(double low, double high) {
    std::vector<double> ticks;
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
        for (const double step : {1.0, 2.0, 5.0})
            if (decade * step >= low && decade * step <= high) ticks.push_back(decade * step);
    return ticks.size() >= 2 ? ticks : round_ticks(low, high, 4);
}

struct Tick {
    double at = 0;
    std::string text;
};

std::vector<Tick> ticks_of(const PlotAxis& axis, const Scale& scale) {
    std::vector<Tick> ticks;
    for (std::size_t i = 0; i < axis.names.size(); i++) ticks.push_back({static_cast<double>(i), axis.names[i]});
    if (!ticks.empty()) return ticks;
    const std::vector<double> values =
        axis.logarithmic ? log_ticks(scale.low(), scale.high()) : round_ticks(scale.low(), scale.high(), 5);
    for (const double value : values) ticks.push_back({value, fmt::format("{:g}", value)});
    return ticks;
}

Scale scale_of(const std::vector<PlotPoint>& points, double PlotPoint::*member, const PlotAxis& axis, double from,
               double to) {
    if (!axis.names.empty()) return Scale(-0.4, static_cast<double>(axis.names.size()) - 0.6, false, from, to);
    const auto [low, high] = std::ranges::minmax(points, {}, member);
    return Scale(low.*member, high.*member, axis.logarithmic, from, to);
}

std::string axes(const Plot& plot, const Scale& x, const Scale& y) {
    const int right_edge = plot.width - right;
    const int bottom_edge = plot.height - bottom;
    std::string svg;
    double free_from = 0;  // where the label before ends: one that would touch it is left out
    for (const Tick& tick : ticks_of(plot.x, x)) {
        svg += fmt::format("<line class=grid x1={0:.1f} x2={0:.1f} y1={1} y2={2} />", x(tick.at), top, bottom_edge);
        const double half = 0.5 * digit_width * static_cast<double>(tick.text.size());
        if (x(tick.at) - half < free_from) continue;
        free_from = x(tick.at) + half + digit_width;
        svg += fmt::format("<text class=tick x={:.1f} y={} text-anchor=middle>{}</text>", x(tick.at), bottom_edge + 14,
                           tick.text);
    }
    for (const Tick& tick : ticks_of(plot.y, y))
        svg += fmt::format(
            "<line class=grid x1={1} x2={2} y1={0:.1f} y2={0:.1f} /><text class=tick x={3} y={4:.1f} "
            "text-anchor=end>{5}</text>",
            y(tick.at), left, right_edge, left - 6, y(tick.at) + 4, tick.text);
    svg += fmt::format("<text class=label x={} y={} text-anchor=middle>{}</text>", (left + right_edge) / 2,
                       plot.height - 6, escape_html(plot.x.label));
    svg += fmt::format("<text class=label transform=\"translate(12 {}) rotate(-90)\" text-anchor=middle>{}</text>",
                       (top + bottom_edge) / 2, escape_html(plot.y.label));
    return svg;
}

// Ordinary points without a note are one path of dots, drawn first, so that winner and default are never hidden.
std::string marks(const Plot& plot, const Scale& x, const Scale& y) {
    const auto plain = [](const PlotPoint& point) { return point.kind == "point" && point.note.empty(); };
    std::string dots;
    std::string circles;
    std::string special;
    for (const PlotPoint& point : plot.points) {
        if (plain(point)) {
            dots += fmt::format("M{:.0f} {:.0f}h0", x(point.x), y(point.y));
            continue;
        }
        const bool ordinary = point.kind == "point";
        (ordinary ? circles : special) +=
            fmt::format("<circle class={} cx={:.1f} cy={:.1f} r={}><title>{}</title></circle>", point.kind, x(point.x),
                        y(point.y), ordinary ? 3 : 5, escape_html(point.note));
    }
    return (dots.empty() ? "" : "<path class=dots d=\"" + dots + "\" />") + circles + special;
}

}  // namespace

std::string escape_html(std::string_view text) {
    std::string safe;
    for (const char c : text) switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                safe += c;
        }
    return safe;
}

std::vector<double> round_ticks(double low, double high, int count) {
    if (!(high > low)) return {low};
    const double raw = (high - low) / count;
    const double decade = std::pow(10, std::floor(std::log10(raw)));
    const double factor = raw / decade;
    const double step = decade * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
    std::vector<double> ticks;
    for (double n = std::ceil(low / step); n * step <= high; n++) ticks.push_back(n * step + 0.0);  // −0 becomes 0
    return ticks;
}

std::string Plot::svg() const {
    std::string svg = fmt::format(
        "<svg class=plot width={0} height={1} viewBox=\"0 0 {0} {1}\" role=img aria-label=\"{2}\">"
        "<text class=title x={3} y=16>{2}</text>",
        width, height, escape_html(title), left);
    if (points.empty())
        return svg + fmt::format("<text class=label x={} y={}>no measurements</text></svg>\n", left, height / 2);
    const Scale xs = scale_of(points, &PlotPoint::x, x, left, width - right);
    const Scale ys = scale_of(points, &PlotPoint::y, y, height - bottom, top);
    svg += axes(*this, xs, ys);
    if (diagonal) {
        const double low = std::max(xs.low(), ys.low());
        const double high = std::min(xs.high(), ys.high());
        if (low < high)
            svg += fmt::format("<line class=diagonal x1={:.1f} y1={:.1f} x2={:.1f} y2={:.1f} />", xs(low), ys(low),
                               xs(high), ys(high));
    }
    return svg + marks(*this, xs, ys) + "</svg>\n";
}

}  // namespace msda::cli
