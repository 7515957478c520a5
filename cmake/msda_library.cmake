# The library that others link, msda::msda: the objects of the three parts in one libmsda.a or libmsda.so.
add_library(msda_library $<TARGET_OBJECTS:msda_generator> $<TARGET_OBJECTS:msda_tuning_db>
    $<TARGET_OBJECTS:msda_emulation> $<TARGET_OBJECTS:msda_runtime>)
add_library(msda::msda ALIAS msda_library)
set_target_properties(msda_library PROPERTIES
    OUTPUT_NAME msda
    EXPORT_NAME msda
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(BUILD_SHARED_LIBS)
    # Only public names leave the library: no instantiation of fmt or of the standard library.
    target_link_options(msda_library PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/msda.map")
    set_target_properties(msda_library PROPERTIES LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/msda.map")
endif()
target_compile_features(msda_library PUBLIC cxx_std_20)
target_include_directories(msda_library INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/generator/include>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(msda_library PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
