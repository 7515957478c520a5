// The one instantiation that fmt_once.hpp promises.
#include "cmake/fmt_once.hpp"

#ifdef MSDA_FMT_VFORMAT_TO
FMT_BEGIN_NAMESPACE
namespace detail {
MSDA_FMT_VFORMAT_TO
}
FMT_END_NAMESPACE
#endif
