// The sizes of a problem as the labs' functions and kernels get them: plain numbers, passed by value.
#pragma once

// value is (batch, pixels, heads, channels), dense, channels innermost; locations (batch, queries, heads, all points, 2);
// weights (batch, queries, heads, all points); output (batch, queries, heads, channels). "All points" are points[0] points
// of level 0, then points[1] of level 1, and so on. Level l is the pixels start[l] … start[l] + height[l] · width[l] − 1.
struct LabShape {
    static constexpr int most_levels = 8;

    int batch, queries, heads, channels, pixels, levels;
    int height[most_levels], width[most_levels], start[most_levels], points[most_levels];
};
