# docs_api: the API reference from the public headers' comments, in BUILD/api/html. A public name without a comment fails the target.
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
    configure_file(docs/api/Doxyfile.in "${CMAKE_CURRENT_BINARY_DIR}/Doxyfile" @ONLY)
    add_custom_target(docs_api COMMAND "${DOXYGEN_EXECUTABLE}" "${CMAKE_CURRENT_BINARY_DIR}/Doxyfile"
        COMMENT "API reference: ${CMAKE_CURRENT_BINARY_DIR}/api/html/index.html" VERBATIM)
endif()
