// A small scatter plot as inline SVG: no script, no network, colours from the page's style sheet.
#pragma once

#include <string>
#include <vector>

namespace msda::cli {

// Text made safe for HTML and SVG content and attributes.
std::string escape_html(std::string_view text);

// One mark. `kind` is the CSS class that colours it: "point", "winner", "default".
struct PlotPoint {
    double x = 0;
    double y = 0;
    std::string kind = "point";
    std::string note;  // shown when the pointer rests on it; ordinary points without one cost a few bytes each
};

struct PlotAxis {
    std::string label;
    bool logarithmic = false;
    std::vector<std::string> names = {};  // of the places 0, 1, 2, …, where values are kinds rather than numbers
};

// A plot of `width` × `height` CSS pixels over the range of its points, which must be finite (and positive on a
// logarithmic axis). `diagonal` draws y = x. No points: a note that says so.
struct Plot {
    std::string title;
    PlotAxis x, y;
    std::vector<PlotPoint> points;
    bool diagonal = false;
    int width = 420;
    int height = 260;

    std::string svg() const;
};

// About `count` round numbers (1, 2, 5 times a power of ten) from low to high.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace msda::cli
