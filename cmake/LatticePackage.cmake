# What `cmake --install` leaves behind: include/lattice, the rooms as static libraries, the program, and
# a CMake package with one target to link, lattice::lattice. Included after all rooms are declared.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lattice)

add_library(lattice INTERFACE)
target_compile_features(lattice INTERFACE cxx_std_20)
target_link_libraries(lattice INTERFACE lattice_api lattice_vectors lattice_fann lattice_transport)

install(TARGETS lattice lattice_options EXPORT lattice_targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lattice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lattice_targets NAMESPACE lattice:: FILE latticeTargets.cmake
        DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/latticeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/latticeConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/latticeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/latticeConfig.cmake
              ${PROJECT_BINARY_DIR}/latticeConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE-MIT ${PROJECT_SOURCE_DIR}/LICENSE-APACHE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(LATTICE_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME package.example COMMAND ${CMAKE_COMMAND}
    -DBUILD_DIR=${PROJECT_BINARY_DIR} -DEXAMPLE_DIR=${PROJECT_SOURCE_DIR}/examples/embed
    -DMODEL_DIR=${LATTICE_TEST_MODELS}/all-minilm-l6-v2 -DGENERATOR=${CMAKE_GENERATOR}
    -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -DCXX=${CMAKE_CXX_COMPILER} -DCXX_FLAGS=${CMAKE_CXX_FLAGS}
    -P ${PROJECT_SOURCE_DIR}/tests/package/example_test.cmake)
  set_tests_properties(package.example PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
