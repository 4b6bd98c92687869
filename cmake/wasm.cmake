# build/wasm/ggscope.wasm: the code that answers requests, for the page of a report (src/wasm).
find_program(WASM_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
set(wasm_folder ${CMAKE_BINARY_DIR}/wasm)
set(wasm_module ${wasm_folder}/ggscope.wasm)
set(wasm_flags --target=wasm32-wasi -Oz -flto -mbulk-memory -msign-ext -mnontrapping-fptoint -std=c11 -fno-strict-aliasing -fwrapv -fvisibility=hidden -D_GNU_SOURCE -DXXH_INLINE_ALL
    -DGGSCOPE_VERSION="${PROJECT_VERSION}" -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror=implicit-function-declaration
    -I${PROJECT_SOURCE_DIR}/src/wasm/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)
set(wasm_link -mexec-model=reactor -Wl,--lto-O1,--gc-sections,--strip-all,-z,stack-size=1048576) # O1 gives the smallest compressed module
if(GGSCOPE_WERROR)
    list(APPEND wasm_flags -Werror)
endif()

if(WASM_CLANG AND NOT EXISTS ${wasm_folder}/probe.wasm)
    file(WRITE ${wasm_folder}/probe.c "#include <stdio.h>\nint probe(double x);\nint probe(double x) { return printf(\"%f\", x); }\n")
    execute_process(COMMAND ${WASM_CLANG} ${wasm_flags} ${wasm_link} -Wl,--export=probe ${wasm_folder}/probe.c -o ${wasm_folder}/probe.wasm
                    ERROR_VARIABLE wasm_problem)
endif()
if(NOT EXISTS ${wasm_folder}/probe.wasm)
    message(FATAL_ERROR "WebAssembly cannot be compiled, which reports need: run scripts/bootstrap build, or install the packages clang, lld, "
                        "wasi-libc and libclang-rt-dev-wasm32.\n${wasm_problem}")
endif()

# The program's sources without those that need files, threads, terminals or the machine.
file(GLOB_RECURSE wasm_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    src/base/*.c src/gguf/*.c src/trace/*.c src/analyze/*.c src/answer/*.c src/figure/*.c src/serve/routes/*.c src/wasm/*.c)
list(FILTER wasm_sources EXCLUDE REGEX
    "^src/(base/(code/.*|system/(cache|disk-speed|file|guard|interrupt|lock|maps|probe|room|terminal|progress)|table)|gguf/extents|trace/(seal/.*|join/.*|values/.*|spool-reader|writer)|analyze/check/.*)\\.c$")
list(APPEND wasm_sources src/serve/reply.c src/serve/log-cache.c src/serve/site.c src/serve/snapshot.c)
set(wasm_objects "")
foreach(source ${wasm_sources})
    set(object ${wasm_folder}/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object} DEPENDS ${source} src/wasm/prelude.h DEPFILE ${object}.d
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${WASM_CLANG} ${wasm_flags} -include ${PROJECT_SOURCE_DIR}/src/wasm/prelude.h -MD -MF ${object}.d
                -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
        COMMENT "" VERBATIM)
    list(APPEND wasm_objects ${object})
endforeach()
list(JOIN wasm_objects "\"\n\"" wasm_list) # quoted, because the path may have spaces
file(CONFIGURE OUTPUT ${wasm_folder}/objects CONTENT "\"${wasm_list}\"\n")
add_custom_command(OUTPUT ${wasm_module} DEPENDS ${wasm_objects}
    COMMAND ${WASM_CLANG} ${wasm_flags} ${wasm_link} @${wasm_folder}/objects -o ${wasm_module} COMMENT "Building ggscope.wasm" VERBATIM)
