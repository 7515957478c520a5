// Comes before every source of this project (cmake/msda_target.cmake): fmt's formatting core is instantiated in one file (fmt_once.cpp) instead of in each,
// which makes a file that formats compile in a third of the time (plan.cpp, g++ 12 -O3: 9.3 s against 2.8 s on the same busy machine).
// fmt stays header-only, so that libmsda needs no libfmt. Versions whose signature is not known here just compile slowly.
#pragma once

#include <fmt/format.h>

#if FMT_VERSION >= 80000 && FMT_VERSION < 110000
#define MSDA_FMT_VFORMAT_TO \
    template void vformat_to(buffer<char>&, basic_string_view<char>, basic_format_args<buffer_context<char>>, locale_ref);

FMT_BEGIN_NAMESPACE
namespace detail {
extern MSDA_FMT_VFORMAT_TO
}
FMT_END_NAMESPACE
#endif
