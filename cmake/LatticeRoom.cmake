# A "room" is one static library with one folder, an explicit source list and an explicit list
# of the rooms and libraries it may see. Tests and benchmarks live beside the sources they cover.
#
#   lattice_room(weights
#     SOURCES safetensors.cc
#     DEPS    base numeric              # rooms
#     LIBS    Boost::json               # third-party targets
#     TESTS   safetensors_test.cc       # one program each, linked with TEST_DEPS too
#     MODEL_TESTS real_gguf_test.cc     # the same for tests of real models: the release run has only these
#     TEST_DEPS kernels_cpu
#     BENCHES safetensors_bench.cc)
add_library(lattice_options INTERFACE)
# Warnings and src are for this build; whoever links the installed package sees include only.
target_include_directories(lattice_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(lattice_options INTERFACE
  "$<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor>"
  $<BUILD_INTERFACE:-ffp-contract=off>
  $<BUILD_INTERFACE:$<$<CONFIG:Debug>:-Werror>>)
target_compile_definitions(lattice_options INTERFACE
  $<BUILD_INTERFACE:LATTICE_VERSION="${PROJECT_VERSION}">)
target_link_libraries(lattice_options INTERFACE Threads::Threads)

function(lattice_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LIBS;TESTS;MODEL_TESTS;TEST_DEPS;BENCHES" ${ARGN})
  add_library(lattice_${name} STATIC ${arg_SOURCES})
  target_link_libraries(lattice_${name} PUBLIC lattice_options ${arg_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(lattice_${name} PUBLIC lattice_${dep})
  endforeach()
  # Under lib/lattice: what an archive holds is nobody's business but the package's.
  install(TARGETS lattice_${name} EXPORT lattice_targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/lattice)
  if(LATTICE_BUILD_TESTS)
    if(NOT LATTICE_UNIT_TESTS)
      set(arg_TESTS "")
    endif()
    foreach(src IN LISTS arg_TESTS arg_MODEL_TESTS)
      lattice_test(${name} ${src} ${arg_TEST_DEPS})
    endforeach()
  endif()
  if(LATTICE_BUILD_BENCHMARKS)
    foreach(src IN LISTS arg_BENCHES)
      get_filename_component(stem ${src} NAME_WE)
      set(bench ${name}_${stem})
      add_executable(${bench} ${src})
      target_link_libraries(${bench} PRIVATE lattice_${name} benchmark::benchmark_main)
    endforeach()
  endif()
endfunction()

# One test program of a room, named ROOM.STEM in ctest. Its working data are found by these macros:
# LATTICE_FIXTURES (tests/fixtures of this project), LATTICE_REFERENCE_FIXTURES and
# LATTICE_TEST_MODELS (may be empty: the test then says that it was skipped).
function(lattice_test room src)
  get_filename_component(stem ${src} NAME_WE)
  set(test ${room}_${stem})
  add_executable(${test} ${src})
  target_link_libraries(${test} PRIVATE lattice_${room} GTest::gtest_main)
  foreach(dep IN LISTS ARGN)
    target_link_libraries(${test} PRIVATE lattice_${dep})
  endforeach()
  # Half of the compiler's time under sanitizers goes into optimising the tests' own code.
  if(NOT CMAKE_CROSSCOMPILING)
    target_compile_options(${test} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
  target_compile_definitions(${test} PRIVATE
    LATTICE_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures"
    LATTICE_REFERENCE_FIXTURES="${LATTICE_REFERENCE_FIXTURES}"
    LATTICE_TEST_MODELS="${LATTICE_TEST_MODELS}")
  add_test(NAME ${room}.${stem} COMMAND ${test})
endfunction()
