# What every target of this project has in common: C++20, warnings, hidden symbols, includes rooted at the repository.
set(MSDA_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor)
# Warnings that g++ derives after inlining and gets wrong on std::string and std::vector (GCC bugs 105651, 105329, 107852);
# AddressSanitizer looks for the real ones.
set(MSDA_UNRELIABLE_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)

option(MSDA_PRECOMPILE "Precompile the headers that most sources include: half the work of a build without ccache" OFF)

# How a target gets cmake/fmt_once.hpp: alone, or with more in a precompiled header. The library's targets and the command have the
# same flags and share one. Not for ccache, which keeps nothing that used one, nor for clang-tidy, which cannot read g++'s.
function(msda_common_headers target)
    set(sharing msda_tuning_db msda_emulation msda_runtime msda_cli)
    if(MSDA_PRECOMPILE AND target MATCHES "^msda_(generator|tests)$")
        target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp")
    elseif(MSDA_PRECOMPILE AND target IN_LIST sharing)
        target_precompile_headers(${target} REUSE_FROM msda_generator)
    else()
        target_compile_options(${target} PRIVATE -include "${PROJECT_SOURCE_DIR}/cmake/fmt_once.hpp")
    endif()
endfunction()

function(msda_target target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE ${MSDA_WARNINGS} "$<$<CXX_COMPILER_ID:GNU>:${MSDA_UNRELIABLE_WARNINGS}>"
        $<$<BOOL:${MSDA_WERROR}>:-Werror>)
    msda_common_headers(${target})
    target_compile_definitions(${target} PRIVATE MSDA_VERSION="${PROJECT_VERSION}" XXH_INLINE_ALL)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} SYSTEM PRIVATE "${MSDA_XXHASH_INCLUDE}")
    target_link_libraries(${target} PRIVATE fmt::fmt-header-only)
endfunction()
