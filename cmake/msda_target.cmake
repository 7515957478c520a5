# What every target of this project has in common: C++20, warnings, hidden symbols, includes rooted at the repository.
set(MSDA_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor)
# Warnings that g++ derives after inlining and gets wrong on std::string and std::vector (GCC bugs 105651, 105329, 107852);
# AddressSanitizer looks for the real ones.
set(MSDA_UNRELIABLE_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)

# One unit a folder where CMAKE_UNITY_BUILD is on (tools/build turns it on): CLI11, JSON and the standard library are then compiled once
# a folder instead of once a file. Whatever the files of a folder define for themselves therefore has names of its own; -Wshadow, which
# compares them, stays for builds file by file.
function(msda_one_unit_a_folder target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        get_filename_component(folder "${source}" ABSOLUTE)
        get_filename_component(folder "${folder}" DIRECTORY)
        file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
        string(MAKE_C_IDENTIFIER "${folder}" folder)
        set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    target_compile_options(${target} PRIVATE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>)
endfunction()

# The headers of cmake/precompiled.hpp are parsed once for OWNER and all targets that name it. Their flags must be the same: g++ takes headers
# precompiled at -O2 for -O1 or -O3 too, and then compiles part of the code at -O2. Where CMake was told to precompile nothing, or no owner is
# named, fmt_once.hpp alone comes first.
function(msda_precompiled target owner)
    if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT owner)
        target_compile_options(${target} PRIVATE -include "${PROJECT_SOURCE_DIR}/cmake/fmt_once.hpp")
        return()
    endif()
    if(target STREQUAL owner)
        target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp")
    else()
        target_precompile_headers(${target} REUSE_FROM ${owner})
    endif()
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endfunction()

# msda_target(TARGET [OWNER]): the owner of its precompiled headers.
function(msda_target target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE ${MSDA_WARNINGS} "$<$<CXX_COMPILER_ID:GNU>:${MSDA_UNRELIABLE_WARNINGS}>"
        $<$<BOOL:${MSDA_WERROR}>:-Werror>)
    # Compiling with CMake's -O3 takes a quarter longer; the loops that gain by it are in runtime/cpu/ and ask for it.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
    msda_precompiled(${target} "${ARGN}")
    msda_one_unit_a_folder(${target})
    target_compile_definitions(${target} PRIVATE MSDA_VERSION="${PROJECT_VERSION}" XXH_INLINE_ALL)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} SYSTEM PRIVATE "${MSDA_XXHASH_INCLUDE}")
    target_link_libraries(${target} PRIVATE fmt::fmt-header-only)
endfunction()
