# Installs a build into a fresh folder, builds examples/embed against it as a user would, and runs it.
# Without the real model, building it is the test, and the output says so.
set(work ${BUILD_DIR}/package_test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/prefix)
run(${work}/prefix/bin/lattice --version)
file(GLOB_RECURSE headers RELATIVE ${work}/prefix/include ${work}/prefix/include/*)
foreach(header IN LISTS headers)
  if(NOT header MATCHES "^lattice/[a-z_]+\\.h$")
    message(FATAL_ERROR "installed a header that is not part of the promise: ${header}")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S ${EXAMPLE_DIR} -B ${work}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
run(${CMAKE_COMMAND} --build ${work}/build)

if(NOT EXISTS ${MODEL_DIR}/model.safetensors)
  message("SKIPPED: the example was built but not run: no model all-minilm-l6-v2; set LATTICE_TEST_MODELS")
  return()
endif()
run(${work}/build/embed_example ${MODEL_DIR})
string(SUBSTRING "${output}" 0 6 cosine)
if(NOT cosine MATCHES "^0\\.[0-9]+$" OR cosine LESS 0.5 OR cosine GREATER 0.8)
  message(FATAL_ERROR "two sentences of one meaning should be alike, but not equal: ${output}")
endif()
