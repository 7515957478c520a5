// Style sheet of the report page, for light and dark screens and for print.
#pragma once

#include <string_view>

namespace msda::cli {

inline constexpr std::string_view report_style = R"CSS(
:root { --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --panel: #f6f8fa; --point: #6e9bd1; --winner: #1a7f37;
        --default: #bc4c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117;
        --panel: #151b23; --point: #5b88bd; --winner: #3fb950; --default: #f0883e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 1320px;
       padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 0 0 4px; }
p { margin: 4px 0 12px; color: var(--soft); }
code { font: 12px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 8px 0 24px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; } td.n, th.n { text-align: right; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 16px 20px; margin: 20px 0;
          break-inside: avoid; }
.plots { display: flex; flex-wrap: wrap; gap: 12px; }
.bar { display: inline-block; height: 10px; background: var(--winner); border-radius: 2px; }
.plot { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; max-width: 100%; }
.plot text { fill: var(--soft); font: 11px system-ui, sans-serif; } .plot .title { fill: var(--ink); font-weight: 600; font-size: 12px; }
.grid { stroke: var(--line); stroke-width: .6; } .diagonal { stroke: var(--soft); stroke-dasharray: 4 4; }
.dots { stroke: var(--point); stroke-width: 6; stroke-linecap: round; stroke-opacity: .65; }
circle.point { fill: var(--point); fill-opacity: .65; } circle.winner { fill: var(--winner); } circle.default { fill: var(--default); }
.key span { margin-right: 16px; } .key i { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin-right: 5px; }
@media (max-width: 640px) { body { padding: 10px; } section { padding: 10px; } .bar { display: none; } th, td { padding-right: 8px; } }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--soft); } a { color: inherit; }
)CSS";

}  // namespace msda::cli
