# Compiles each variant as its own object library so that the flags cannot leak, and adds a test
# that the object defines no weak (inline/template) symbol: see CONTRIBUTING.md, "Kernels".
set(LATTICE_FLAGS_scalar        "")
set(LATTICE_FLAGS_avx2          -mavx2 -mfma -mf16c)
set(LATTICE_FLAGS_avxvnni       ${LATTICE_FLAGS_avx2} -mavxvnni)
set(LATTICE_FLAGS_avx512        ${LATTICE_FLAGS_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
set(LATTICE_FLAGS_avx512vnni    ${LATTICE_FLAGS_avx512} -mavx512vnni)
set(LATTICE_FLAGS_avx512vpopcntdq ${LATTICE_FLAGS_avx512vnni} -mavx512vpopcntdq)
set(LATTICE_FLAGS_avx512bf16    ${LATTICE_FLAGS_avx512} -mavx512bf16)
set(LATTICE_FLAGS_amx_int8      ${LATTICE_FLAGS_avx512vnni} -mavx512bf16 -mamx-tile -mamx-int8)
set(LATTICE_FLAGS_amx_bf16      ${LATTICE_FLAGS_avx512vnni} -mavx512bf16 -mamx-tile -mamx-bf16)
set(LATTICE_FLAGS_neon          "")
set(LATTICE_FLAGS_neon_dotprod  -march=armv8.2-a+fp16+dotprod)
set(LATTICE_FLAGS_neon_i8mm     -march=armv8.2-a+fp16+dotprod+i8mm)
set(LATTICE_FLAGS_neon_bf16     -march=armv8.2-a+fp16+dotprod+bf16)

function(lattice_kernel_variants target)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(family "^(scalar|avx|amx)")
  else()
    set(family "^(scalar|neon)")
  endif()
  foreach(src IN LISTS ARGN)
    get_filename_component(isa ${src} NAME_WE)
    if(NOT isa MATCHES "${family}")
      continue()
    endif()
    get_filename_component(dir ${src} DIRECTORY)
    string(REPLACE "/" "_" stem ${dir})
    set(obj ${target}_${stem}_${isa})
    add_library(${obj} OBJECT ${src})
    target_link_libraries(${obj} PRIVATE lattice_options)
    # Kernels are optimised in every build type: a sanitizer build of them at -O1 is fine, at -O0
    # it is too slow to test. g++ 12 warns about its own AVX-512 headers (GCC bug 105593).
    target_compile_options(${obj} PRIVATE ${LATTICE_FLAGS_${isa}} -Wno-uninitialized
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                           $<$<NOT:$<CONFIG:Debug>>:-O3>)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${obj}>)
    if(LATTICE_BUILD_TESTS AND LATTICE_UNIT_TESTS AND NOT isa STREQUAL "scalar" AND NOT isa STREQUAL "neon")
      add_test(NAME no_weak_symbols.${obj}
        COMMAND ${PROJECT_SOURCE_DIR}/tools/check_isa_object.sh ${CMAKE_NM}
                $<TARGET_OBJECTS:${obj}>)
    endif()
  endforeach()
endfunction()
