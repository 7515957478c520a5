# What the build needs from outside: header-only libraries of the distribution, threads, and two headers of CUDA.
# No CUDA library is linked: libcuda and libnvrtc are opened at run time.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(msda_require found library package)
    if(NOT ${found})
        message(FATAL_ERROR "msda needs ${library}. On Debian and Ubuntu: apt-get install ${package} (tools/setup does it).")
    endif()
endfunction()

find_package(fmt QUIET)
msda_require(fmt_FOUND "fmt" libfmt-dev)
find_package(nlohmann_json QUIET)
msda_require(nlohmann_json_FOUND "JSON for Modern C++" nlohmann-json3-dev)
find_path(MSDA_XXHASH_INCLUDE xxhash.h DOC "Folder of xxhash.h")
mark_as_advanced(MSDA_XXHASH_INCLUDE)
msda_require(MSDA_XXHASH_INCLUDE "xxHash" libxxhash-dev)
if(MSDA_BUILD_TOOLS)
    find_package(CLI11 QUIET)
    msda_require(CLI11_FOUND "CLI11" libcli11-dev)
endif()
if(MSDA_BUILD_TESTS)
    find_package(doctest QUIET)
    msda_require(doctest_FOUND "doctest" doctest-dev)
endif()

include(msda_cuda_headers)
