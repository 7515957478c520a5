// Which atomic instructions a kernel holds, counted in its PTX or SASS text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msda::cli {

// Instructions of one opcode in one kernel, as they stand in the code (not as often as they run).
struct AtomicCount {
    std::string kernel;
    std::string opcode;  // with all its modifiers: "red.global.add.noftz.v4.f16x2", "REDG.E.ADD.F32.FTZ.RN"
    int count = 0;
    bool operator==(const AtomicCount&) const = default;
};

// red.* and atom.* of PTX, sorted by kernel and opcode.
std::vector<AtomicCount> atomics_in_ptx(std::string_view ptx);

// RED*, ATOM* (global) and ATOMS* (shared) of the text that nvdisasm or cuobjdump print.
std::vector<AtomicCount> atomics_in_sass(std::string_view sass);

}  // namespace msda::cli
