# Embeds text files in a target: generates a .cpp that defines `std::span<const STRUCT> FUNCTION()`, declared in HEADER, with one
# { name, text } a file; the name is the file's path below BASE. The .cpp is made anew when a file changes, comes or goes.
function(msda_embed target)
    cmake_parse_arguments(PARSE_ARGV 1 embed "" "FUNCTION;STRUCT;HEADER;BASE" "FILES")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${embed_FUNCTION}.cpp")
    set(list "${CMAKE_CURRENT_BINARY_DIR}/embedded/${embed_FUNCTION}.list.cmake")
    set(script "${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake")
    list(SORT embed_FILES)
    file(CONFIGURE OUTPUT "${list}" @ONLY CONTENT [[
set(FILES "@embed_FILES@")
set(BASE "@embed_BASE@")
set(FUNCTION "@embed_FUNCTION@")
set(STRUCT "@embed_STRUCT@")
set(HEADER "@embed_HEADER@")
]])
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" -DLIST=${list} -DOUTPUT=${output} -P "${script}"
        DEPENDS ${embed_FILES} "${list}" "${script}"
        COMMENT "Embedding ${embed_FUNCTION}"
        VERBATIM)
    target_sources(${target} PRIVATE "${output}")
    set_source_files_properties("${output}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings SKIP_LINTING ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
