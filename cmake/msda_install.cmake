# What `cmake --install` and CPack put on a machine: library, public headers, the command, and the files that find them
# (find_package(msda), pkg-config msda). Paths inside are relative, so that the tree can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS msda_library EXPORT msda_targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY generator/include/msda runtime/include/msda DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES LICENSE CHANGELOG.md README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET msda)
    install(TARGETS msda RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/msda")
install(EXPORT msda_targets NAMESPACE msda:: DESTINATION "${package}")
configure_package_config_file(cmake/msda-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/msda-config.cmake"
    INSTALL_DESTINATION "${package}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/msda-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/msda-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/msda-config-version.cmake"
    DESTINATION "${package}")

file(RELATIVE_PATH MSDA_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/msda.pc.in "${CMAKE_CURRENT_BINARY_DIR}/msda.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/msda.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(CPACK_GENERATOR "TGZ;DEB" CACHE STRING "What `cpack` makes")
set(CPACK_PACKAGE_NAME msda-jit)
set(CPACK_PACKAGE_CONTACT "The msda-jit authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
