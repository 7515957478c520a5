# What `cmake --install` and CPack put on a machine: library, headers, the command, and the files that find them.
install(TARGETS msda_library EXPORT msda_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
