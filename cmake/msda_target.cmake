# What every target of this project has in common: C++20, warnings, hidden symbols, includes rooted at the repository.
set(MSDA_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor)
# Warnings that g++ derives after inlining and gets wrong on std::string and std::vector (GCC bugs 105651, 105329, 107852);
# AddressSanitizer looks for the real ones.
set(MSDA_UNRELIABLE_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)

function(msda_target target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE ${MSDA_WARNINGS} "$<$<CXX_COMPILER_ID:GNU>:${MSDA_UNRELIABLE_WARNINGS}>"
        $<$<BOOL:${MSDA_WERROR}>:-Werror>)
    target_compile_options(${target} PRIVATE -include "${PROJECT_SOURCE_DIR}/cmake/fmt_once.hpp")
    target_compile_definitions(${target} PRIVATE MSDA_VERSION="${PROJECT_VERSION}" XXH_INLINE_ALL)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} SYSTEM PRIVATE "${MSDA_XXHASH_INCLUDE}")
    target_link_libraries(${target} PRIVATE fmt::fmt-header-only)
endfunction()
