# Finds the engine's libraries and headers, and warns if their versions differ.
#   GGSCOPE_ENGINE_LIBRARY_DIR   the folder with libllama and libggml-base
#   GGSCOPE_ENGINE_INCLUDES      the folders with llama.h and ggml.h
#   GGSCOPE_ENGINE_DEFINITIONS   versions, default folder, features of this release's API
#   GGSCOPE_ENGINE_SOURCE        the checkout of the pinned release: headers and vocabularies
include(CheckCSourceCompiles)

set(GGSCOPE_ENGINE_SOURCE ${PROJECT_SOURCE_DIR}/build/engine/source)
set(stock ${PROJECT_SOURCE_DIR}/engine/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(stock ${PROJECT_SOURCE_DIR}/engine/arm64)
    if(GGSCOPE_CROSS_ROOT)
        set(stock ${GGSCOPE_CROSS_ROOT}/engine)
    endif()
    string(APPEND stock /node_modules/@node-llama-cpp/linux-arm64/bins/linux-arm64)
endif()

if(GGSCOPE_ENGINE)
    get_filename_component(given "${GGSCOPE_ENGINE}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
else()
    set(given ${stock})
endif()

# ---- libraries ----
set(GGSCOPE_ENGINE_LIBRARY_DIR "")
foreach(folder . bin lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} build/bin)
    file(GLOB found "${given}/${folder}/libllama.so*" "${given}/${folder}/libllama.*.so")
    if(found AND NOT GGSCOPE_ENGINE_LIBRARY_DIR)
        list(GET found 0 llama_library)
        get_filename_component(GGSCOPE_ENGINE_LIBRARY_DIR "${given}/${folder}" REALPATH)
    endif()
endforeach()
if(NOT GGSCOPE_ENGINE_LIBRARY_DIR)
    message(FATAL_ERROR "No libllama in ${given} (nor in its bin, lib, lib64, build/bin). "
                        "Run scripts/bootstrap, or point GGSCOPE_ENGINE at a llama.cpp build.")
endif()

# ---- headers: those beside the libraries if present, else those of the pinned release ----
set(GGSCOPE_ENGINE_INCLUDES ${GGSCOPE_ENGINE_SOURCE}/include ${GGSCOPE_ENGINE_SOURCE}/ggml/include)
set(tree ${GGSCOPE_ENGINE_SOURCE})
if(GGSCOPE_ENGINE)
    foreach(candidate ${given} ${given}/.. ${given}/../..)
        if(EXISTS ${candidate}/include/llama.h)
            get_filename_component(tree ${candidate} REALPATH)
            set(GGSCOPE_ENGINE_INCLUDES ${tree}/include)
            if(EXISTS ${tree}/ggml/include/ggml.h)
                list(APPEND GGSCOPE_ENGINE_INCLUDES ${tree}/ggml/include)
            endif()
            break()
        endif()
    endforeach()
endif()

# ---- versions ----
function(ggscope_source_version file prefix result)
    set(version unknown)
    if(EXISTS ${file})
        file(STRINGS ${file} lines REGEX "set\\(${prefix}_VERSION_(MAJOR|MINOR|PATCH) ")
        string(REGEX REPLACE "[^0-9]*([0-9]+)\\)[^0-9]*" "\\1." numbers "${lines}")
        if(numbers MATCHES "^([0-9]+\\.[0-9]+\\.[0-9]+)")
            set(version ${CMAKE_MATCH_1})
        endif()
    endif()
    set(${result} ${version} PARENT_SCOPE)
endfunction()
ggscope_source_version(${tree}/CMakeLists.txt LLAMA header_llama)
ggscope_source_version(${tree}/ggml/CMakeLists.txt GGML header_ggml)
if(header_llama STREQUAL unknown) # an install prefix has it in its pkg-config file
    foreach(name llama ggml)
        file(GLOB pc ${tree}/lib*/pkgconfig/${name}.pc ${tree}/lib/*/pkgconfig/${name}.pc)
        if(pc)
            list(GET pc 0 pc)
            file(STRINGS ${pc} line REGEX "^Version:")
            string(REGEX REPLACE "^Version: *" "" header_${name} "${line}")
        endif()
    endforeach()
endif()

# ARGS is one command line, split at spaces.
try_run(version_ran version_compiled ${CMAKE_BINARY_DIR}/engine-version ${PROJECT_SOURCE_DIR}/cmake/engine-version.c
        LINK_LIBRARIES ${CMAKE_DL_LIBS} RUN_OUTPUT_VARIABLE library_versions ARGS "\"${llama_library}\"")
if(library_versions MATCHES "llama=([^ ]+) ggml=([^ ]+) commit=([^ ]+)")
    set(library_llama ${CMAKE_MATCH_1})
    set(library_ggml ${CMAKE_MATCH_2})
    string(REGEX REPLACE "-dev$" "" library_llama ${library_llama}) # a build without a tag has this suffix
    string(REGEX REPLACE "-dev$" "" library_ggml ${library_ggml})
else()
    message(FATAL_ERROR "${llama_library} could not be opened: ${library_versions}")
endif()
message(STATUS "engine: llama.cpp ${library_llama} (ggml ${library_ggml}) in ${GGSCOPE_ENGINE_LIBRARY_DIR}, headers ${header_llama} in ${tree}")
if(NOT library_llama STREQUAL header_llama OR NOT library_ggml STREQUAL header_ggml)
    message(WARNING "The engine's libraries (llama.cpp ${library_llama}, ggml ${library_ggml}) and headers (llama.cpp ${header_llama}, "
                    "ggml ${header_ggml}) disagree: ggscope-engine will refuse to run them unless both are unknown. Point GGSCOPE_ENGINE "
                    "at a build tree or an install prefix, which have their own headers.")
endif()

# ---- features of this release's API ----
set(CMAKE_REQUIRED_INCLUDES ${GGSCOPE_ENGINE_INCLUDES})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(GGSCOPE_ENGINE_DEFINITIONS
    GGSCOPE_ENGINE_VERSION="${header_llama}" GGSCOPE_GGML_VERSION="${header_ggml}"
    GGSCOPE_DEFAULT_ENGINE="${GGSCOPE_ENGINE_LIBRARY_DIR}")
function(ggscope_engine_has name body)
    string(MD5 key "${GGSCOPE_ENGINE_INCLUDES}")
    check_c_source_compiles("#include <llama.h>\nint probe(void);\nint probe(void) { ${body} }" ${name}_${key})
    if(${name}_${key})
        set(GGSCOPE_ENGINE_DEFINITIONS ${GGSCOPE_ENGINE_DEFINITIONS} ${name} PARENT_SCOPE)
    endif()
endfunction()
ggscope_engine_has(HAVE_LLAMA_LOAD_MODE "struct llama_model_params p; p.load_mode = LLAMA_LOAD_MODE_MMAP; return (int) p.load_mode;")
ggscope_engine_has(HAVE_LLAMA_FLASH_ATTN_TYPE "struct llama_context_params p; p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO; return (int) p.flash_attn_type;")
ggscope_engine_has(HAVE_LLAMA_TENSOR_OVERRIDES "struct llama_model_params p; p.tensor_buft_overrides = 0; return p.tensor_buft_overrides != 0;")
ggscope_engine_has(HAVE_LLAMA_USE_EXTRA_BUFTS "struct llama_model_params p; p.use_extra_bufts = 0; return p.use_extra_bufts;")
# Tensor types that older releases lack are defined by their numbers in GGUF files. Before use, the
# running library is asked for the name of the type.
foreach(type MXFP4=39 NVFP4=40 Q1_0=41 Q2_0=42)
    string(REGEX MATCH "^[^=]+" name ${type})
    ggscope_engine_has(HAVE_GGML_TYPE_${name} "return GGML_TYPE_${name};")
    if(NOT "HAVE_GGML_TYPE_${name}" IN_LIST GGSCOPE_ENGINE_DEFINITIONS)
        list(APPEND GGSCOPE_ENGINE_DEFINITIONS GGML_TYPE_${type})
    endif()
endforeach()
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_INCLUDES)
