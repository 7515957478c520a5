// The NVRTC of this machine, for tests that compile for real.
#pragma once

#include <memory>

#include "msda/error.hpp"
#include "runtime/nvrtc_search.hpp"

namespace msda::fakes {

// Null where there is none: the test skips.
inline std::shared_ptr<const NvrtcLibrary> real_nvrtc() {
    Attempts attempts;
    try {
        return find_nvrtc({}, LibraryLoader::real(), FileSystem(), {}, attempts);
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace msda::fakes
