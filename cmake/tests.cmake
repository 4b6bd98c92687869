file(GLOB fixtures CONFIGURE_DEPENDS tests/unit/*-fixture.c)
add_library(fixtures STATIC ${fixtures})
target_link_libraries(fixtures PUBLIC analyze trace PkgConfig::CMOCKA)

# One program per tests/unit/test-NAME.c, built into build/tests/; tests/run finds them there.
file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/test-*.c)
foreach(source ${unit_tests})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_compile_definitions(${name} PRIVATE GGSCOPE_ENGINE_LIBRARY_DIR="${GGSCOPE_ENGINE_LIBRARY_DIR}"
        GGSCOPE_VOCABULARIES="${GGSCOPE_ENGINE_SOURCE}/models")
    target_link_libraries(${name} PRIVATE fixtures record answer analyze trace gguf base PkgConfig::CMOCKA ${CMAKE_DL_LIBS})
endforeach()
if(TARGET test-export)
    target_link_libraries(test-export PRIVATE export)
endif()
if(TARGET test-slots)
    target_sources(test-slots PRIVATE src/capture/slots.c src/capture/segment.c tests/unit/no-sandbox.c)
endif()
# CUPTI and the driver are looked for by these names, and found in the process already.
if(TARGET test-cuda)
    target_sources(test-cuda PRIVATE src/capture/device/cuda.c)
    add_library(cupti-stand-in SHARED tests/unit/cupti-stand-in.c)
    set_target_properties(cupti-stand-in PROPERTIES OUTPUT_NAME cupti SOVERSION 13 C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda)
    add_library(driver-stand-in SHARED tests/unit/driver-stand-in.c)
    set_target_properties(driver-stand-in PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda)
    target_link_libraries(driver-stand-in PRIVATE cupti-stand-in)
    target_link_libraries(test-cuda PRIVATE -Wl,--no-as-needed cupti-stand-in driver-stand-in)
endif()
target_sources(test-zstd-decode PRIVATE src/wasm/zstd-decode.c)
if(TARGET test-stream)
    target_sources(test-stream PRIVATE src/stream/memory.c)
endif()
if(TARGET test-locate)
    target_compile_definitions(test-locate PRIVATE ${GGSCOPE_ENGINE_DEFINITIONS})
endif()
if(TARGET test-gguf)
    target_include_directories(test-gguf SYSTEM PRIVATE ${GGSCOPE_ENGINE_INCLUDES})
endif()

# What the engine's own reader says of a GGUF file.
if(EXISTS ${PROJECT_SOURCE_DIR}/tests/engine/gguf-oracle.c)
    add_executable(gguf-oracle tests/engine/gguf-oracle.c)
    set_target_properties(gguf-oracle PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
        BUILD_RPATH ${GGSCOPE_ENGINE_LIBRARY_DIR})
    target_include_directories(gguf-oracle SYSTEM PRIVATE ${GGSCOPE_ENGINE_INCLUDES})
    file(GLOB ggml_base ${GGSCOPE_ENGINE_LIBRARY_DIR}/libggml-base.so*)
    list(GET ggml_base 0 ggml_base)
    target_link_libraries(gguf-oracle PRIVATE ${ggml_base})
endif()

add_executable(bench-recorder tests/bench/bench-recorder.c src/capture/cpu/ops.c src/capture/slots.c src/capture/losses.c
               src/capture/segment.c src/capture/window.c src/base/ticks.c tests/unit/no-sandbox.c)
target_compile_options(bench-recorder PRIVATE -O3 -ftls-model=initial-exec)
set_target_properties(bench-recorder PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# ggscope prove with one prediction that is off by a page: a test sees that it is caught.
add_executable(prove-shifted src/analyze/machine/prove.c)
target_compile_definitions(prove-shifted PRIVATE GGS_PROVE_SHIFT=4096)
target_link_libraries(prove-shifted PRIVATE cli)
set_target_properties(prove-shifted PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# A program that uses the engine in odd ways, bound as ggscope-engine is (see CMakeLists.txt) and written for the pinned release; and one
# that shows the rows of a trace.
if(NOT GGSCOPE_ENGINE)
    add_executable(host tests/engine/host.c src/engine/load.c src/engine/locate.c)
    target_include_directories(host SYSTEM PRIVATE ${GGSCOPE_ENGINE_INCLUDES})
    target_compile_definitions(host PRIVATE ${GGSCOPE_ENGINE_DEFINITIONS})
    target_link_libraries(host PRIVATE base ${CMAKE_DL_LIBS})
    target_link_options(host PRIVATE -rdynamic -Wl,-z,lazy -Wl,--unresolved-symbols=ignore-all)
    set_target_properties(host PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

    # Programs on ggml alone: one that loads its backends, one that is linked with the CPU's.
    foreach(name whisper-host diffusion-host)
        add_executable(${name} tests/engine/${name}.c)
        target_include_directories(${name} SYSTEM PRIVATE ${GGSCOPE_ENGINE_INCLUDES})
        file(GLOB libraries ${GGSCOPE_ENGINE_LIBRARY_DIR}/libggml.* ${GGSCOPE_ENGINE_LIBRARY_DIR}/libggml-base.*)
        if(name STREQUAL diffusion-host)
            list(APPEND libraries ${GGSCOPE_ENGINE_LIBRARY_DIR}/libggml-cpu-x64.so)
        endif()
        target_link_libraries(${name} PRIVATE ${libraries})
        target_link_options(${name} PRIVATE -Wl,--unresolved-symbols=ignore-in-shared-libs)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
            BUILD_RPATH ${GGSCOPE_ENGINE_LIBRARY_DIR})
    endforeach()
endif()
add_executable(without-perf tests/engine/without-perf.c)
set_target_properties(without-perf PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_library(stream-errors SHARED tests/engine/stream-errors.c)
set_target_properties(stream-errors PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_executable(trace-dump tests/engine/trace-dump.c)
target_link_libraries(trace-dump PRIVATE trace)
set_target_properties(trace-dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_executable(bench-seal tests/bench/bench-seal.c)
target_link_libraries(bench-seal PRIVATE trace base)
set_target_properties(bench-seal PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_executable(bench-faults tests/bench/bench-faults.c)
target_link_libraries(bench-faults PRIVATE record base)
set_target_properties(bench-faults PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(name bench-decode bench-json)
    add_executable(${name} tests/bench/${name}.c)
    target_link_libraries(${name} PRIVATE trace base)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

# Traces with wrong values and right checksums, for tests/attack.
add_executable(mutate-trace tests/attack/mutate-trace.c)
target_link_libraries(mutate-trace PRIVATE trace)
set_target_properties(mutate-trace PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
