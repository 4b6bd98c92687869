# One program per tests/fuzz/fuzz-NAME.c. scripts/fuzz runs them.
file(GLOB fuzzers CONFIGURE_DEPENDS tests/fuzz/fuzz-*.c)
foreach(source ${fuzzers})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE serve answer analyze trace gguf base)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
target_sources(fuzz-zstd PRIVATE src/wasm/zstd-decode.c)
